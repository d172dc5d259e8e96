/** Helpers for tests that make and run migrations. */
import type { Class } from '../../src/metadata/class-metadata.js'
import type { Database } from '../../src/records/database.js'

/** @returns options for migrations in `folder`, made at a fixed time. `minute` orders the files. */
export function migrationOptions(
  folder: string,
  minute: number,
): { folder: string; now: () => number } {
  return { folder, now: () => Date.UTC(2026, 10, 21, 10, minute) }
}

/** Replaces the records of the database, as a new version of the program would. */
export function setRecords(database: Database, ...records: Class[]): void {
  database.tables.clear()
  for (const record of records) database.table(record)
}
