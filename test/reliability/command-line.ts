/** Reads options such as `--seconds 60` and `--seed 7`, and prints the results of a run. */

/** @returns the number after `--name`, or the default */
export function numberOf(name: string, otherwise: number): number {
  const place = process.argv.indexOf(`--${name}`)
  const value = place === -1 ? otherwise : Number(process.argv[place + 1])
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} needs a number.`)
  return value
}

/** @returns the text after `--name`, if there is one */
export function textOf(name: string): string | undefined {
  const place = process.argv.indexOf(`--${name}`)
  return place === -1 ? undefined : process.argv[place + 1]
}

export function say(facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify(facts))
}
