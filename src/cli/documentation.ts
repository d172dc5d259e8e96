/** The pages of this version's documentation, which the package brings along. */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { packageFolder } from './own-package.js'

/** What is for those who maintain the framework is not for those who use it, and is not in the package. */
export async function findPages(): Promise<string[]> {
  const names = await readdir(join(packageFolder, 'docs'), { recursive: true })
  return names
    .map((name) => name.split(sep).join('/'))
    .filter((name) => name.endsWith('.md') && !/^(?:maintainers|deploy)\//.test(name))
    .map((name) => name.replace(/\.md$/, ''))
    .sort()
}

/** @param page one of those that `findPages` names */
export function readPage(page: string): Promise<string> {
  return readFile(join(packageFolder, 'docs', `${page}.md`), 'utf8')
}

/** `docs/records.md` is `records`. */
export function pageCalled(name: string): string {
  return name.replace(/^docs\//, '').replace(/\.md$/, '')
}

export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}
