/** An error of an application as a text for its developer. */

import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeclarationError, isDebugged } from '../errors/declaration-error.js'
import { findImportCycle } from '../errors/import-cycle.js'

/** An error with the lines of the source that it was thrown in. */

export interface Fault {
  readonly name: string
  readonly message: string
  /** Without places in Node and in packages. */
  readonly stack: string
  /** The first place in the application. */
  readonly file: string | null
  readonly line: number | null
  readonly source: readonly { readonly line: number; readonly text: string }[]
}

/** Lines that are shown before and behind. */
const around = 4

/** @param show leaves out secrets */
export function findFault(error: unknown, show: (text: string) => string): Fault {
  if (!(error instanceof Error)) {
    return {
      name: 'thrown',
      message: show(String(error)),
      stack: '',
      file: null,
      line: null,
      source: [],
    }
  }
  const stack = withoutOthers(error.stack ?? '')
  const place = findPlace(stack)
  return {
    name: show(error.name),
    message: show(error.message),
    stack: show(
      stack
        .split('\n')
        .filter((text) => /^\s+at /.test(text))
        .join('\n'),
    ),
    file: place === undefined ? null : relative(process.cwd(), place.file),
    line: place?.line ?? null,
    source: place === undefined ? [] : readSource(place, show),
  }
}

interface Place {
  readonly file: string
  readonly line: number
}

function findPlace(stack: string): Place | undefined {
  for (const [, at = '', line] of stack.matchAll(
    /\(?((?:file:\/\/|\/|[A-Z]:\\)[^()\n]+?):(\d+):\d+\)?$/gm,
  )) {
    const file = at.startsWith('file:') ? fileURLToPath(at) : at
    if (existsSync(file)) return { file, line: Number(line) }
  }
  return undefined
}

/** Of a source only what is written in quotes may be a secret, and what looks like one. */
function readSource({ file, line }: Place, show: (text: string) => string): Fault['source'] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    const from = Math.max(0, line - 1 - around)
    return lines.slice(from, line + around).map((text, place) => ({
      line: from + place + 1,
      text: showSource(text, show).slice(0, 200),
    }))
  } catch {
    return []
  }
}

function showSource(text: string, show: (text: string) => string): string {
  // `password: body.password` is worth reading, `password: 'abc'` is not.
  return /["'`]/.test(text) ? show(text) : text
}

/** Faults of the application are reports; other errors are shown with where they lie in it. */
export function describeFailure(what: string, error: unknown): string {
  if (error instanceof DeclarationError)
    return error.message.replace(/^Filigree cannot start:/, `${what}:`)
  if (!(error instanceof Error)) return `${what}: ${String(error)}`
  const { message, stack = message } = error
  const cycle = findImportCycle(error)
  const explained = cycle === undefined ? '' : `\n${cycle.message} ${cycle.remedy}`
  return `${what}: ${isDebugged() ? stack : withoutOthers(stack)}${explained}`
}

/** A stack without the places in Node and in installed packages, this one among them. */
export function withoutOthers(stack: string): string {
  const isOthers = (line: string): boolean =>
    /^\s+at .*(?:node:|[\\/]node_modules[\\/])|^\s+at (?:async )?\S+ \(<anonymous>\)$/.test(line)
  return stack
    .split('\n')
    .filter((line) => !isOthers(line))
    .join('\n')
}
