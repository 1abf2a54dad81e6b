import type { DoctorInput, SchemaDrift } from '../model/doctor.ts'

/** Reads the state of the whole database for the doctor. Changes and locks nothing. */
export interface InspectionStore {
  schemaDrift(): Promise<SchemaDrift>
  /** This needs tables that are up to date. */
  inspect(): Promise<DoctorInput>
}
