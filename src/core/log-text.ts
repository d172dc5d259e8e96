/** Log lines for people: the lines that pino writes as JSON, as text. */
import type { Colour, Paint } from './paint.js'

/** A log line as pino writes it. */
export interface LogText {
  readonly level: number
  readonly time?: number
  readonly msg?: string
  readonly err?: { readonly message?: string; readonly stack?: string; readonly cause?: unknown }
  readonly [field: string]: unknown
}

interface LogTextOptions {
  readonly paint: Paint
  /** Shortens the stack of an error. Default: the stack is shown as a whole. */
  readonly shorten?: ((stack: string) => string) | undefined
}

const levels: Readonly<Record<number, readonly [string, Colour]>> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
}

/** @returns `14:03:12 info listening at http://localhost:3000 routes=12 took="87 ms"`, and the stack of an error below */
export function toLogText(line: LogText, { paint, shorten }: LogTextOptions): string {
  const { level, time, msg = '', err, ...rest } = line
  const [name, colour] = levels[level] ?? ['log', 'dim']
  const clock = time === undefined ? '' : `${new Date(time).toTimeString().slice(0, 8)} `
  const fields = Object.entries(rest)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([key, value]) => [key, String(value)] as const)
    .filter(([, text]) => text !== '' && !msg.split(' ').includes(text))
    .map(
      ([key, text]) => `${key}=${/[\s"]/.test(text) ? JSON.stringify(text) : escapeControls(text)}`,
    )
    .join(' ')
  const head =
    `${paint('dim', clock)}${paint(colour, name)} ${escapeControls(msg)} ${paint('dim', fields)}`.trimEnd()
  const stacks = toStacks(err).map((stack) => indent(shorten?.(stack) ?? stack))
  return [head, ...stacks].join('\n')
}

/** The stacks of an error and its causes. */
function toStacks(error: LogText['err']): string[] {
  const own = error?.stack ?? error?.message
  if (own === undefined) return []
  const causes = toStacks(error?.cause as LogText['err'])
  return [own, ...causes.map((cause) => `Caused by: ${cause}`)]
}

/** A text from a client must not begin a line or change the terminal. */
function escapeControls(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (control) => {
    const code = control.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${code}`
  })
}

function indent(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '').replace(/^/gm, '  ')
}
