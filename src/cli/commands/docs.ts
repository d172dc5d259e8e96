/** `filigree docs`: prints pages of the documentation, which is part of the package. */

import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { packageFolder } from '../package-files.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import {
  type Command,
  exitCodes,
  UsageError,
  type Terminal,
  readArguments,
  toTable,
} from '../command.js'

/** @returns the names of all pages for users, `README.md` by the name of its folder. Pages for maintainers are not in the package */
export async function findPages(): Promise<string[]> {
  const names = await readdir(join(packageFolder, 'docs'), { recursive: true })
  return names
    .map((name) => name.split(sep).join('/'))
    .filter((name) => name.endsWith('.md') && !/^(?:maintainers|deploy)\//.test(name))
    .map(pageCalled)
    .sort()
}

/** @param page a name that `findPages` returns */
export function readPage(page: string): Promise<string> {
  const path = join(packageFolder, 'docs', page)
  return readFile(`${path}.md`, 'utf8').catch(() => readFile(join(path, 'README.md'), 'utf8'))
}

/** @returns the page's name: `docs/jobs.md` is `jobs`, and `docs/records/README.md` is `records` */
export function pageCalled(name: string): string {
  return name.replace(/^docs\//, '').replace(/(?:\/README)?(?:\.md)?$/, '')
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}

const usage = `filigree docs [page] [--json]
  Prints a page of this version's documentation: filigree docs records. Without a page it lists them.
  --json            the list as [{ page, title }], a page as { page, title, text }`

export const docsCommand: Command = { usage, summary: 'a page of the documentation', run }

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, { json: 'switch' }, 1)
  const [name] = positionals
  const pages = await findPages()
  if (name === undefined) {
    const list = await Promise.all(
      pages.map(async (page) => ({ page, title: titleOf(await readPage(page)) })),
    )
    const rows = list.map(({ page, title }) => [page, title])
    await terminal.out(values.json ? `${JSON.stringify(list, null, 2)}\n` : toTable(rows))
    return exitCodes.done
  }
  const page = pageCalled(name)
  if (!pages.includes(page)) {
    const near = didYouMean(page, pages)
    const hint = near === '' ? 'filigree docs lists all.' : near
    throw new UsageError(`there is no page "${name}". ${hint}`)
  }
  const text = await readPage(page)
  const value = { page, title: titleOf(text), text }
  await terminal.out(values.json ? `${JSON.stringify(value, null, 2)}\n` : text)
  return exitCodes.done
}
