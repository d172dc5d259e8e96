/** Reads the errors of the server. */

export interface Fault {
  readonly path: string
  readonly message: string
}

interface Failure {
  readonly status?: number
  readonly name?: string
  readonly data?: {
    readonly error?: unknown
    readonly errors?: unknown
    readonly code?: unknown
  } | null
}

/** Somebody closed the sign-in: there is nothing to say. */
export class Abandoned extends Error {}

export const statusOf = (error: unknown): number => (error as Failure | null)?.status ?? 0

/** The faults of fields. */
export function faultsOf(error: unknown): Fault[] {
  const list = (error as Failure | null)?.data?.errors
  return Array.isArray(list) ? (list as Fault[]) : []
}

const words: Readonly<Record<number, string>> = {
  401: 'You are not signed in.',
  403: 'You may not do that.',
  404: 'This is not there, or not for you.',
  413: 'This is too large.',
  429: 'This was asked too often. Wait a moment and try again.',
  503: 'The server is busy. Try again in a moment.',
}

/** The server's words where it has some. */
export function faultText(error: unknown): string {
  if (error instanceof Abandoned) return ''
  const { status = 0, data, name } = (error ?? {}) as Failure
  if (name === 'AbortError') return ''
  const said = data?.error
  if (typeof said === 'string' && said !== '' && status !== 404) return said
  if (status > 0) return words[status] ?? `The server answered with ${status}. Nothing was changed.`
  if (error instanceof TypeError && /fetch|network/i.test(error.message))
    return 'The server cannot be reached. Nothing is lost: try again.'
  return error instanceof Error ? error.message : String(error)
}
