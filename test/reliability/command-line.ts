/** Reads `--seconds 60`, `--requests 1000000` and `--seed 7`, and says what a run has done. */

/** @returns the number behind `--name`, or what is taken without it */
export function numberOf(name: string, otherwise: number): number {
  const place = process.argv.indexOf(`--${name}`)
  const given = place === -1 ? otherwise : Number(process.argv[place + 1])
  if (!Number.isFinite(given) || given < 0) throw new Error(`--${name} needs a number.`)
  return given
}

/** @returns the text behind `--name`, should it be there */
export function textOf(name: string): string | undefined {
  const place = process.argv.indexOf(`--${name}`)
  return place === -1 ? undefined : process.argv[place + 1]
}

export function say(facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify(facts))
}
