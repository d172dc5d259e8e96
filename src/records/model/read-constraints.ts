/**
 * Reads `@Record({ constraints })`: the errors for clients when a constraint of the application's own SQL is
 * violated.
 */
import type { Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Column } from '../../engines/contract/table.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { RecordConstraint, RecordOptions } from './record.js'

/** The error for a client whose write violates the constraint. */
export interface Constraint {
  /** Undefined: the status depends on the kind of the constraint. */
  readonly status: number | undefined
  readonly message: string | undefined
  readonly column: Column | undefined
}

interface Constrained {
  readonly type: Class
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** @returns errors by the constraint's name in the database */
export function readConstraints(
  { type, options, columns }: Constrained,
  problems: Problem[],
): ReadonlyMap<string, Constraint> {
  const constraints = new Map<string, Constraint>()
  for (const [name, constraint] of Object.entries(options.constraints ?? {})) {
    const where = `@Record of ${type.name}: constraints.${name}`
    const wrong = (message: string, remedy: string): void => {
      problems.push({ code: 'INVALID_OPTION', message: `${where}${message}`, remedy })
    }
    if (
      typeof constraint !== 'object' ||
      (constraint as unknown) === null ||
      Array.isArray(constraint)
    ) {
      wrong(' is not an object.', "Write { status: 409, message: 'The room is taken.' }.")
      continue
    }
    for (const option of Object.keys(constraint))
      if (!optionNames.includes(option))
        wrong(
          `: unknown option "${option}".`,
          `${didYouMean(option, optionNames)} Options: ${optionNames.join(', ')}.`.trim(),
        )
    const { status, message, path } = constraint
    if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status < 500))
      wrong(': status is not the status of a client error.', 'Write a number from 400 to 499.')
    if (message !== undefined && (typeof message !== 'string' || message === ''))
      wrong(': message is not a text.', 'Write a message for the client, or leave it out.')
    const column = columns.find(({ property }) => property === path)
    if (path !== undefined && column === undefined) {
      const names = columns.map(({ property }) => property)
      wrong(`: path "${path}" is not a field.`, didYouMean(path, names) || 'Name a field of it.')
    }
    constraints.set(name, { status, message, column })
  }
  return constraints
}

const optionNames: readonly string[] = [
  'message',
  'path',
  'status',
] satisfies (keyof RecordConstraint)[]
