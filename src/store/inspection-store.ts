import type { DoctorInput } from '../model/diagnosis.ts'
import type { SchemaDrift } from '../model/schema-drift.ts'

/** Reads the state of the whole database for the doctor. Changes and locks nothing. */
export interface InspectionStore {
  schemaDrift(): Promise<SchemaDrift>
  /** This needs tables that are up to date. */
  inspect(): Promise<DoctorInput>
}
