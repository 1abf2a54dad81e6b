import type { Inspection, SchemaDrift } from '../model/diagnosis.ts'

/** Reads the state of the whole database for the doctor. Changes and locks nothing. */
export interface InspectionStore {
  schemaDrift(): Promise<SchemaDrift>
  /** Needs tables that are up to date. */
  inspect(): Promise<Inspection>
}
