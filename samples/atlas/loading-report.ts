/** Shows the progress of a long task: a bar on a terminal, otherwise a line for every tenth. */

export interface Output {
  /** True for a terminal, where a line can be overwritten. */
  readonly isTTY?: boolean
  write(text: string): unknown
}

const width = 30

export class LoadingReport {
  readonly #out: Output
  #tenths = 0

  /** @param out default: standard error, so that standard output only contains the log */
  constructor(out: Output = process.stderr) {
    this.#out = out
  }

  show(what: string, done: number, total: number): void {
    const part = total === 0 ? 1 : done / total
    const state = `${numbers.format(done)} of ${numbers.format(total)}`
    if (this.#out.isTTY === true) {
      const bar = '█'.repeat(Math.round(part * width)).padEnd(width, '░')
      const end = done === total ? '\n' : ''
      this.#out.write(`\r${what} ${bar} ${state}${end}`)
      return
    }
    const tenths = Math.floor(part * 10)
    if (tenths > this.#tenths) this.#out.write(`${what}: ${state}\n`)
    this.#tenths = tenths
  }
}

const numbers = new Intl.NumberFormat('en')
