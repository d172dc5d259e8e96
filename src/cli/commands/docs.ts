/** `filigree docs`: prints pages of the documentation, and searches it. */
import { findPages, pageNameOf, readPage, titleOf } from '../documentation-pages.js'
import { loadPages } from '../search-documentation.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { defineCommand, flag, type Terminal, UsageError } from '../command.js'
import { toJson, toTable } from '../output.js'

export const docsCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree docs [page or words]',
  summary: 'prints a page of the documentation, or searches it',
  description: `Prints a page of the documentation of the installed version. Other words are searched in titles, headings, synonyms and text.
Without arguments it lists all pages.`,
  options: {
    json: flag(
      'prints the list as [{ page, title }], a page as { page, title, text }, results as [{ page, heading, excerpt }]',
    ),
  },
  examples: ['filigree docs', 'filigree docs records/queries', 'filigree docs multi tenant'],
  maxPositionals: Infinity,
  run: async ({ values: { json }, positionals }, terminal) => {
    const pages = await findPages()
    if (positionals.length === 0) return list(pages, json, terminal)
    const query = positionals.join(' ')
    const page = findPage(query, pages)
    if (page === undefined) return search(query, pages, json, terminal)
    const text = await readPage(page)
    await terminal.out(json ? toJson({ page, title: titleOf(text), text }) : text)
    return true
  },
})

async function list(pages: readonly string[], json: boolean, { out }: Terminal): Promise<boolean> {
  const all = await Promise.all(
    pages.map(async (page) => ({ page, title: titleOf(await readPage(page)) })),
  )
  await out(json ? toJson(all) : toTable(all.map(({ page, title }) => [page, title])))
  return true
}

/** @returns the page of this name, also without its folder if no other page has the name */
function findPage(name: string, pages: readonly string[]): string | undefined {
  const page = pageNameOf(name)
  if (pages.includes(page)) return page
  const inFolders = pages.filter((one) => one.endsWith(`/${page}`))
  return inFolders.length === 1 ? inFolders[0] : undefined
}

/** The maximum number of sections. */
const maxResults = 10

/** @throws {UsageError} nothing is found */
async function search(
  query: string,
  pages: readonly string[],
  json: boolean,
  { out }: Terminal,
): Promise<boolean> {
  const results = /[./]/.test(query) ? [] : (await loadPages()).search.find(query, maxResults)
  if (results.length === 0) {
    const hint = didYouMean(pageNameOf(query), pages) || 'filigree docs lists all pages.'
    throw new UsageError(`there is no page "${query}", and no page has these words. ${hint}`)
  }
  const rows = results.map(({ page, heading }) => [page, heading])
  const [first] = results
  await out(
    json
      ? toJson(results)
      : `${toTable(rows)}\nTo read a page: filigree docs ${first?.page ?? ''}\n`,
  )
  return true
}
