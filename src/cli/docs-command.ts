/** `filigree docs`: prints the pages of the documentation, which the package brings along. */
import { didYouMean } from '../errors/did-you-mean.js'
import type { Command } from './command.js'
import { findPages, pageCalled, readPage, titleOf } from './documentation.js'
import { readArguments } from './read-arguments.js'
import { toTable } from './table-text.js'
import { exitCodes, UsageError, type Terminal } from './terminal.js'

const usage = `filigree docs [page] [--json]
  Prints a page of this version's documentation: filigree docs records. Without a page it lists them.
  --json            the list as [{ page, title }], a page as { page, title, text }`

export const docsCommand: Command = { usage, summary: 'a page of the documentation', run }

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, words } = readArguments(args, { json: 'switch' }, 1)
  const [asked] = words
  const pages = await findPages()
  if (asked === undefined) {
    const list = await Promise.all(
      pages.map(async (page) => ({ page, title: titleOf(await readPage(page)) })),
    )
    const rows = list.map(({ page, title }) => [page, title])
    await terminal.out(values.json ? `${JSON.stringify(list, null, 2)}\n` : toTable(rows))
    return exitCodes.done
  }
  const page = pageCalled(asked)
  if (!pages.includes(page)) {
    const near = didYouMean(page, pages)
    const hint = near === '' ? 'filigree docs lists all.' : near
    throw new UsageError(`there is no page "${asked}". ${hint}`)
  }
  const text = await readPage(page)
  const value = { page, title: titleOf(text), text }
  await terminal.out(values.json ? `${JSON.stringify(value, null, 2)}\n` : text)
  return exitCodes.done
}
