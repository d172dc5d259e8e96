/** `filigree docs`: prints pages of the documentation, which is part of the package. */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageFolder, toPosix } from '../project-files.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { defineCommand, flag, UsageError } from '../command.js'
import { toJson, toTable } from '../output.js'

/** @returns the names of all pages for users. A `README.md` has the name of its folder */
export async function findPages(): Promise<string[]> {
  const names = await readdir(join(packageFolder, 'docs'), { recursive: true })
  return names
    .map(toPosix)
    .filter((name) => name.endsWith('.md') && !/^(?:maintainers|deploy|node_modules)\//.test(name))
    .map(pageNameOf)
    .sort()
}

/** @param page a name that `findPages` returns */
export function readPage(page: string): Promise<string> {
  const path = join(packageFolder, 'docs', page)
  return readFile(`${path}.md`, 'utf8').catch(() => readFile(join(path, 'README.md'), 'utf8'))
}

/** @returns the page's name: `docs/jobs.md` is `jobs`, and `docs/records/README.md` is `records` */
export function pageNameOf(name: string): string {
  return name.replace(/^docs\//, '').replace(/(?:\/README)?(?:\.md)?$/, '')
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}

export const docsCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree docs [page]',
  summary: 'prints a page of the documentation',
  description:
    'Prints a page of the documentation of the installed version. Without a page it lists all pages.',
  options: {
    json: flag('prints the list as [{ page, title }], a page as { page, title, text }'),
  },
  examples: ['filigree docs', 'filigree docs records/queries'],
  run: async ({ values, positionals: [name] }, terminal) => {
    const pages = await findPages()
    if (name === undefined) {
      const list = await Promise.all(
        pages.map(async (page) => ({ page, title: titleOf(await readPage(page)) })),
      )
      const rows = list.map(({ page, title }) => [page, title])
      await terminal.out(values.json ? toJson(list) : toTable(rows))
      return true
    }
    const page = pageNameOf(name)
    if (!pages.includes(page)) {
      const hint = didYouMean(page, pages) || 'filigree docs lists all pages.'
      throw new UsageError(`there is no page "${name}". ${hint}`)
    }
    const text = await readPage(page)
    const value = { page, title: titleOf(text), text }
    await terminal.out(values.json ? toJson(value) : text)
    return true
  },
})
