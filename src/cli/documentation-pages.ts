/** The pages of the documentation, which is part of the package. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageFolder, toPosix } from './project-files.js'

/** @returns the names of all pages for users. A `README.md` has the name of its folder */
export async function findPages(): Promise<string[]> {
  const names = await readdir(join(packageFolder, 'docs'), { recursive: true })
  return names
    .map(toPosix)
    .filter((name) => name.endsWith('.md') && !/^(?:maintainers|deploy|node_modules)\//.test(name))
    .map(pageNameOf)
    .sort()
}

/**
 * @param page a name that `findPages` returns
 * @returns the text without the words for the search at its beginning
 */
export async function readPage(page: string): Promise<string> {
  return (await readSource(page)).replace(frontMatter, '')
}

const frontMatter = /^---\n([^]*?)\n---\n+/

/** @returns other words for the subject of a page: `synonyms: [csrf, login]` at its beginning */
export async function readSynonyms(page: string): Promise<string[]> {
  const [, properties = ''] = frontMatter.exec(await readSource(page)) ?? []
  const [, list = ''] = /^synonyms:\s*\[([^\]]*)\]/m.exec(properties) ?? []
  return list
    .split(',')
    .map((word) => word.trim().replace(/^(['"])(.*)\1$/, '$2'))
    .filter((word) => word !== '')
}

function readSource(page: string): Promise<string> {
  const path = join(packageFolder, 'docs', page)
  return readFile(`${path}.md`, 'utf8').catch(() => readFile(join(path, 'README.md'), 'utf8'))
}

/** @returns the page's name: `docs/jobs.md` is `jobs`, and `docs/records/README.md` is `records` */
export function pageNameOf(name: string): string {
  return name.replace(/^docs\//, '').replace(/(?:\/README)?(?:\.md)?$/, '')
}

export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}
