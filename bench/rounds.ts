/**
 * Runs all subjects in turn, round after round, so that other load on the machine affects all of them equally.
 *
 * @returns the results of each subject, in order
 */
export async function interleave<Subject, Value>(
  subjects: readonly Subject[],
  runs: number,
  run: (subject: Subject, round: number) => Promise<Value>,
): Promise<Map<Subject, Value[]>> {
  const results = new Map<Subject, Value[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < runs; round += 1) {
    for (const [subject, values] of results) values.push(await run(subject, round))
  }
  return results
}
