/** Streams the progress of long work as lines of JSON. The work stops when the client goes away. */
import { HttpError } from '../../index.js'

interface ImportShare {
  /** Rows so far. */
  readonly rows: number
  /** From 0 to 1. */
  readonly share: number
}

export type ShareReport = (progress: ImportShare) => void

/** The work was stopped because its client has gone. */
class Stopped extends Error {}

/**
 * Yields `{"rows":50,"share":0.1}` whenever the work reports progress, then its result, or `{"status":400,"error":"…"}`.
 *
 * @param work receives a function that reports progress and throws once the client has gone
 */
export async function* progressLines(
  work: (report: ShareReport) => Promise<object>,
): AsyncGenerator<string, void> {
  let progress: ImportShare | undefined = { rows: 0, share: 0 }
  let outcome: { readonly result: object } | { readonly error: unknown } | undefined
  let isStopped = false
  let wake = (): void => undefined
  const running = work((latest) => {
    if (isStopped) throw new Stopped('The client has gone.')
    progress = latest
    wake()
  }).then(
    (result) => {
      outcome = { result }
      wake()
    },
    (error: unknown) => {
      outcome = { error }
      wake()
    },
  )
  try {
    for (;;) {
      if (outcome !== undefined) break
      if (progress !== undefined) {
        const line = progress
        progress = undefined
        yield toLine(line)
        continue
      }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    if ('result' in outcome) yield toLine(outcome.result)
    else yield toLine(toErrorLine(outcome.error))
  } finally {
    isStopped = true
    await running
  }
}

function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`
}

/** @throws the error unless it is the client's, so that the connection breaks and the log has it */
function toErrorLine(error: unknown): object {
  if (!(error instanceof HttpError) || error.status >= 500) throw error
  const { status, message, code, errors } = error.forClient()
  return { status, error: message, code, errors }
}
