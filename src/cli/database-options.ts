import { type Command, Option } from 'commander'

/** What every command that works on a database takes. */
export interface DatabaseOptions {
  readonly database: string
  readonly tablePrefix?: string
}

export function withDatabaseOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '-d, --database <url>',
        'mysql://user:password@host:3306/name, mariadb://… or sqlite:./file.db',
      )
        .env('KALENDS_DATABASE')
        .default('sqlite:./kalends.db'),
    )
    .option('--table-prefix <text>', "put before the names of all tables, such as 'kalends_'")
}

/** The URL as it may be shown. Whatever stands before the last @ may be a password, or the rest of one. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^?]*@/i, '$1***@').replace(/(password=)[^&]*/i, '$1***')
}
