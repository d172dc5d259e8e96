/** What comes of an operation, whichever way it ran. */
import type { GraphQLError } from 'graphql'
import type { Admission } from '../records/rights/caller.js'

export type Variables = Readonly<Record<string, unknown>>

/** What an operation gave. */
export interface Outcome {
  /** Undefined: nothing ran, and `errors` say why. */
  readonly data: object | null | undefined
  /** The JSON text of `data`, where it was never a value; then `data` is undefined. */
  readonly text: string | undefined
  readonly errors: readonly GraphQLError[] | undefined
  /** Set where the caller may not run it. */
  readonly refused: Exclude<Admission, 'admitted'> | undefined
}

/** An outcome of which nothing ran. */
export function notRun(errors: readonly GraphQLError[]): Outcome {
  return { data: undefined, text: undefined, errors, refused: undefined }
}
