/** The record of jobs, if an application has them. */
import type { Class } from '../metadata/note.js'
import { readRecord } from '../records/model/record.js'
import { UsageError } from './terminal.js'

/** @throws {UsageError} it is not among the records of the application */
export function findJobs(records: readonly Class[]): Class {
  const found = records.find(isJobs)
  if (found !== undefined) return found
  throw new UsageError(
    "the application has no jobs. Import them: imports: [jobs()], from 'filigree/jobs'.",
  )
}

export function isJobs(type: Class): boolean {
  return type.name === 'JobEntry' && readRecord(type)?.table === 'jobs'
}
