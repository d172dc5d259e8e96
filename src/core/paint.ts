/** Colours of a terminal. Source: https://no-color.org, and `FORCE_COLOR` of Node.js. */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Colour = keyof typeof codes

/** Colours a text, or returns it unchanged if the terminal shows no colours. */
export type Paint = (colour: Colour, text: string) => string

export function createPaint(isEnabled = false): Paint {
  return (colour, text) =>
    isEnabled && text !== '' ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text
}

/** True for a terminal, unless `NO_COLOR` is set. `FORCE_COLOR` also colours output to a pipe or file. */
export function showsColours(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '' } = process.env
  if (NO_COLOR !== '') return false
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0'
  return stream.isTTY && stream.hasColors()
}
