/** The documentation as tools: searched by words, and read by page or section. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { Field } from '../../fields/field.js'
import { findPages, pageCalled, readPage } from '../documentation.js'
import { PageSearch, toSections, type Section } from './search-pages.js'
import { tool, ToolFault, type Tool } from './tool.js'

class SearchInput {
  @Field('string', {
    maxLength: 200,
    minLength: 1,
    description: 'Words to look for: "softDelete restore", "rows by tenant".',
  })
  query!: string
  @Field('integer', { min: 1, max: 20, default: 8, description: 'How many sections at most.' })
  limit!: number
}

class ReadInput {
  @Field('string', {
    maxLength: 100,
    description: 'Its name: "records", "tutorial/01-first-route".',
  })
  page!: string
  @Field('string', {
    maxLength: 200,
    optional: true,
    description: 'The heading of one section of a long page.',
  })
  section?: string
}

/** Characters of a page that are answered at once. */
const most = 30_000

interface Pages {
  readonly pages: readonly string[]
  readonly search: PageSearch
}

let kept: Promise<Pages> | undefined

/** Once, since the package does not change while it runs; but for a reading that failed. */
function known(): Promise<Pages> {
  kept ??= load().catch((error: unknown) => {
    kept = undefined
    throw error
  })
  return kept
}

async function load(): Promise<Pages> {
  const pages = await findPages()
  const sections = await Promise.all(
    pages.map(async (page) => toSections(page, await readPage(page))),
  )
  return { pages, search: new PageSearch(sections.flat()) }
}

export const documentationTools: readonly Tool[] = [
  tool({
    name: 'search_docs',
    title: 'Search the documentation',
    description:
      'Searches the documentation of the installed version of Filigree by words, and answers the sections that fit best. Ask it before guessing the name of a decorator, option or function.',
    input: SearchInput,
    run: async ({ query, limit }) => {
      const { search } = await known()
      return { value: { sections: search.find(query, limit) } }
    },
  }),
  tool({
    name: 'read_doc',
    title: 'Read a page of the documentation',
    description:
      'Answers a page as Markdown, or one section of it. Of a long page without a section it answers the beginning and the list of its sections.',
    input: ReadInput,
    run: async ({ page: asked, section }) => {
      const { pages } = await known()
      const page = pageCalled(asked)
      if (!pages.includes(page)) {
        const near = didYouMean(page, pages)
        throw new ToolFault(
          `There is no page ${JSON.stringify(asked)}. ${near} Pages: ${pages.join(', ')}.`,
        )
      }
      const text = await readPage(page)
      const sections = toSections(page, text)
      if (section !== undefined) return { text: cut(textOf(page, sections, section)) }
      if (text.length <= most) return { text }
      return { text: `${cut(text)}\n\nSections to ask for:\n${listOf(sections)}` }
    },
  }),
]

/** A section with those below it. */
function textOf(page: string, sections: readonly Section[], asked: string): string {
  const wanted = bare(asked)
  const place = [
    sections.findIndex(({ heading }) => bare(heading) === wanted),
    sections.findIndex(({ heading }) => bare(heading).startsWith(wanted)),
  ].find((one) => one !== -1)
  const found = sections[place ?? -1]
  if (place === undefined || found === undefined)
    throw new ToolFault(
      `${page} has no section ${JSON.stringify(asked)}. Its sections:\n${listOf(sections)}`,
    )
  const behind = sections.slice(place + 1)
  const end = behind.findIndex(({ level }) => level <= found.level)
  const below = end === -1 ? behind : behind.slice(0, end)
  return [found, ...below].map(({ text }) => text).join('\n')
}

function bare(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function listOf(sections: readonly Section[]): string {
  return sections.map(({ heading }) => `- ${heading}`).join('\n')
}

function cut(text: string): string {
  return text.length > most
    ? `${text.slice(0, most)}\n… (${text.length - most} characters more)`
    : text
}
