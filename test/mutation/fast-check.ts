/** Setup for every test file: property tests use the same values for each mutant and stop at the first failure. */
import * as fc from 'fast-check'

fc.configureGlobal({ seed: 1, endOnFailure: true })
