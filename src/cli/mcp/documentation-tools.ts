/** Tools that search the documentation by words, and read its pages and sections. */

import { didYouMean } from '../../errors/did-you-mean.js'
import { Field } from '../../fields/field.js'
import { pageNameOf, readPage } from '../documentation-pages.js'
import { loadPages, toSections, type Section } from '../search-documentation.js'
import { tool, ToolError, type Tool } from './tool.js'

class SearchInput {
  @Field('string', {
    maxLength: 200,
    minLength: 1,
    description: 'Words to search for: "softDelete restore", "rows by tenant".',
  })
  query!: string
  @Field('integer', { min: 1, max: 20, default: 8, description: 'The maximum number of sections.' })
  limit!: number
}

class ReadInput {
  @Field('string', {
    maxLength: 100,
    description: 'The name: "records", "tutorial/01-first-route".',
  })
  page!: string
  @Field('string', {
    maxLength: 200,
    optional: true,
    description: 'The heading of one section of a long page.',
  })
  section?: string
}

/** Maximum length of a result in characters. */
const maxLength = 20_000

export const documentationTools: readonly Tool[] = [
  tool({
    name: 'search_docs',
    title: 'Search the documentation',
    description:
      'Searches the documentation of the installed version of Filigree by words, and returns the sections that fit best. Use it before guessing the name of a decorator, option or function.',
    input: SearchInput,
    run: async ({ query, limit }) => {
      const { search } = await loadPages()
      return { value: { sections: search.find(query, limit) } }
    },
  }),
  tool({
    name: 'read_doc',
    title: 'Read a page of the documentation',
    description:
      'Returns a page as Markdown, or one section of it. For a long page without a section it returns the beginning and the list of its sections.',
    input: ReadInput,
    run: async ({ page: name, section }) => {
      const { pages } = await loadPages()
      const page = pageNameOf(name)
      if (!pages.includes(page)) {
        const suggestion = didYouMean(page, pages)
        throw new ToolError(
          `There is no page ${JSON.stringify(name)}. ${suggestion} Pages: ${pages.join(', ')}.`,
        )
      }
      const text = await readPage(page)
      const sections = toSections(page, text)
      if (section !== undefined) return { text: cut(textOf(page, sections, section)) }
      if (text.length <= maxLength) return { text }
      return { text: `${cut(text)}\n\nSections:\n${listOf(sections)}` }
    },
  }),
]

/** @returns the text of a section and of its subsections */
function textOf(page: string, sections: readonly Section[], heading: string): string {
  const normalized = normalizeHeading(heading)
  const index = [
    sections.findIndex(({ heading }) => normalizeHeading(heading) === normalized),
    sections.findIndex(({ heading }) => normalizeHeading(heading).startsWith(normalized)),
  ].find((one) => one !== -1)
  const found = sections[index ?? -1]
  if (index === undefined || found === undefined)
    throw new ToolError(
      `${page} has no section ${JSON.stringify(heading)}. Its sections:\n${listOf(sections)}`,
    )
  const following = sections.slice(index + 1)
  const end = following.findIndex(({ level }) => level <= found.level)
  const below = end === -1 ? following : following.slice(0, end)
  return [found, ...below].map(({ text }) => text).join('\n')
}

function normalizeHeading(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function listOf(sections: readonly Section[]): string {
  return sections.map(({ heading }) => `- ${heading}`).join('\n')
}

function cut(text: string): string {
  return text.length > maxLength
    ? `${text.slice(0, maxLength)}\n… (${text.length - maxLength} characters more)`
    : text
}
