/** Names in the source use standard terms. Old terms of the project are refused. */
import { basename } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import { readSources } from './source-files.js'

/** Refused words with the term to use instead. Add a word once no name uses it any more. */
const replacements: ReadonlyMap<string, string> = new Map([
  ['chatter', 'messages'],
  ['companions', 'related tables'],
  ['door', 'interface, entry point'],
  ['guest', 'development host'],
  ['journey', 'request'],
  ['judge', 'check'],
  ['leash', 'limit'],
  ['lets', 'can, allows'],
  ['living', 'active, not deleted'],
  ['notes', 'metadata'],
  ['pulse', 'heartbeat'],
  ['questions', 'queries, requests'],
  ['rounds', 'polling cycles'],
  ['seam', 'extension points'],
  ['stand', 'interceptor, position'],
  ['storey', 'layer'],
  ['surroundings', 'context'],
  ['untold', 'not reported'],
  ['walk', 'pipeline, traverse'],
  ['workplace', 'folder'],
])

/** `#lastPollTime` → `last`, `poll`, `time` */
function wordsOf(name: string): string[] {
  const parts = name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z]+/)
  return parts.map((part) => part.toLowerCase())
}

function forbiddenIn(name: string): string[] {
  return wordsOf(name).filter((word) => replacements.has(word))
}

/** `src/a.ts: guestPort (guest → development host)` */
function findings(path: string, text: string): string[] {
  const found = new Set<string>()
  const add = (name: string): void => {
    for (const word of forbiddenIn(name))
      found.add(`${path}: ${name} (${word} → ${replacements.get(word) ?? ''})`)
  }
  add(basename(path, '.ts'))
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) add(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  return [...found]
}

describe('the names of the source', () => {
  it('are found by their words', () => {
    const text = 'class A { #guestPort = 1; walkTree(judgement: number) { return "door" } }'
    expect(findings('src/leash.ts', text).map((line) => line.split(' ')[1])).toEqual([
      'leash',
      '#guestPort',
      'walkTree',
    ])
  })

  it.each(['src', 'client'])('of %s are standard terms', (folder) => {
    expect(readSources(folder).flatMap(({ path, text }) => findings(path, text))).toEqual([])
  })
})
