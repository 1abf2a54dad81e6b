import type { Inspection, SchemaDrift } from '../model/diagnosis.ts'

/** Looks at everything, for whoever wants to know what is wrong. Changes and locks nothing. */
export interface InspectionStore {
  schemaDrift(): Promise<SchemaDrift>
  /** Needs tables that are up to date. */
  inspect(): Promise<Inspection>
}
