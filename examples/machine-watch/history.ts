/** The history of the measurements, in the application's own table next to Kalends' tables. */
import type { AppDatabase, Value } from './database.ts'
import type { Measurement } from './machine.ts'

/** A summary of the measurements of one resource over a period. */
export interface Series extends Pick<Measurement, 'kind' | 'name'> {
  readonly host: string
  readonly lowest: number
  readonly average: number
  readonly highest: number
  readonly first: number
  readonly last: number
  readonly size: number
  /** The times of the first and last measurement, in Unix milliseconds. */
  readonly from: number
  readonly to: number
}

/** The number of runs of a task that ended in a state. */
export interface Runs {
  readonly task: string
  readonly state: string
  readonly runs: number
}

export class History {
  readonly #database: AppDatabase

  private constructor(database: AppDatabase) {
    this.#database = database
  }

  static async open(database: AppDatabase): Promise<History> {
    await database.rows(`CREATE TABLE IF NOT EXISTS machine_sample (
      host VARCHAR(190) NOT NULL, kind VARCHAR(16) NOT NULL, name VARCHAR(190) NOT NULL, measured BIGINT NOT NULL,
      used DOUBLE PRECISION NOT NULL, size DOUBLE PRECISION NOT NULL, PRIMARY KEY (host, kind, name, measured))`)
    return new History(database)
  }

  /** Keeps existing measurements of the same instant, so a retried job adds no duplicates. */
  async add(host: string, at: Date, measurements: readonly Measurement[]): Promise<void> {
    for (const { kind, name, used, size } of measurements) {
      const key: Value[] = [host, kind, name, at.getTime()]
      await this.#database.rows(
        `INSERT INTO machine_sample (host, kind, name, measured, used, size)
         SELECT ?, ?, ?, ?, ?, ? FROM (SELECT 1 AS one) AS once
         WHERE NOT EXISTS (SELECT 1 FROM machine_sample WHERE host = ? AND kind = ? AND name = ? AND measured = ?)`,
        [...key, used, size, ...key],
      )
    }
  }

  between(from: Date, to: Date): Promise<Series[]> {
    return this.#database.rows<Series>(
      `SELECT s.host, s.kind, s.name, lowest, average, highest, a.used AS first, b.used AS last, b.size AS size,
              a.measured AS ${FROM}, b.measured AS ${TO}
       FROM (SELECT host, kind, name, MIN(used) AS lowest, AVG(used) AS average, MAX(used) AS highest,
                    MIN(measured) AS oldest, MAX(measured) AS newest
             FROM machine_sample WHERE measured > ? AND measured <= ? GROUP BY host, kind, name) AS s
       JOIN machine_sample AS a ON a.host = s.host AND a.kind = s.kind AND a.name = s.name AND a.measured = s.oldest
       JOIN machine_sample AS b ON b.host = s.host AND b.kind = s.kind AND b.name = s.name AND b.measured = s.newest
       ORDER BY s.host, s.kind, s.name`,
      [from.getTime(), to.getTime()],
    )
  }

  /** You can read Kalends' tables like any others. Their times are in UTC and can be compared with text. */
  runsBetween(from: Date, to: Date): Promise<Runs[]> {
    return this.#database.rows<Runs>(
      'SELECT task, state, COUNT(*) AS runs FROM job WHERE finished > ? AND finished <= ? GROUP BY task, state ORDER BY task, state',
      [instantText(from), instantText(to)],
    )
  }

  /** Deletes older measurements, and older finished jobs with their logs and attempts. @returns how many rows remain */
  async prune(before: Date): Promise<{ samples: number; jobs: number }> {
    const finished = [instantText(before)]
    await this.#database.rows('DELETE FROM machine_sample WHERE measured < ?', [before.getTime()])
    await this.#database.rows(
      "DELETE FROM job WHERE state IN ('success', 'failed', 'cancelled', 'skipped') AND finished < ?",
      finished,
    )
    await this.#database.rows(
      'DELETE FROM job_log WHERE at < ? AND job_id NOT IN (SELECT id FROM job)',
      finished,
    )
    await this.#database.rows(
      'DELETE FROM attempt WHERE ended < ? AND job_id NOT IN (SELECT id FROM job)',
      finished,
    )
    const [left] = await this.#database.rows<{ samples: number; jobs: number }>(
      'SELECT (SELECT COUNT(*) FROM machine_sample) AS samples, (SELECT COUNT(*) FROM job) AS jobs',
    )
    return left ?? { samples: 0, jobs: 0 }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** In backticks, because these are SQL keywords. MySQL and SQLite both accept backticks. */
const FROM = '`from`'
const TO = '`to`'

function instantText(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '')
}
