/** What a look at an application has found: each finding says whether it is in order, and what to do if not. */
import { toTable } from './table-text.js'
import { withoutPasswords } from './without-passwords.js'

export interface Finding {
  /** What was looked at: `Node.js`, `keys`. */
  readonly about: string
  /** `fault`: it does not work so. `note`: it may be meant. */
  readonly state: 'ok' | 'note' | 'fault'
  readonly what: string
  /** What to do about it. */
  readonly remedy?: string | undefined
}

export function hasFaults(findings: readonly Finding[]): boolean {
  return findings.some(({ state }) => state === 'fault')
}

/** What `openDoors` lists. */
export const openToEverybody = 'open to everybody'

/** A line each; what is to be done stands below. What is open to everybody is a list of its own. */
export function findingsToText(findings: readonly Finding[]): string {
  const isOpen = ({ about, state }: Finding): boolean => about === openToEverybody && state !== 'ok'
  const open = findings.filter(isOpen).map(({ what }) => `- ${what}\n`)
  const others = findings.filter((one) => !isOpen(one))
  const rows = others.flatMap(({ about, state, what, remedy }) => [
    [state, about, what],
    ...(remedy === undefined ? [] : [['', '', remedy]]),
  ])
  const listed = open.length === 0 ? '' : `\nEverybody may, without a token:\n${open.join('')}`
  return withoutPasswords(toTable(rows) + listed)
}

export function findingsToJson(findings: readonly Finding[]): string {
  return `${withoutPasswords(JSON.stringify(findings, null, 2))}\n`
}
