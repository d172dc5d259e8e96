/** The documentation as tools: searched by words, and read by page or section. */

import { didYouMean } from '../../errors/did-you-mean.js'
import { Field } from '../../fields/field.js'
import { findPages, pageCalled, readPage } from '../commands/docs.js'
import { tool, ToolFault, type Tool } from './tool.js'

/** Searches the pages of the documentation by words: each section is judged by itself, the one with rare words first. */

interface Section {
  readonly page: string
  /** The page's title. */
  readonly title: string
  /** Its own heading; the title where it stands before the first one. */
  readonly heading: string
  /** 1 for the page's title, 2 for what stands below it. */
  readonly level: number
  readonly text: string
}

interface Found {
  readonly page: string
  readonly heading: string
  /** Lines around the words. */
  readonly excerpt: string
}

/** Cuts a page at its headings, outside of code. */
function toSections(page: string, text: string): Section[] {
  const sections: { heading: string; level: number; lines: string[] }[] = []
  let isCode = false
  for (const line of text.split('\n')) {
    if (isFence(line)) isCode = !isCode
    const [, marks, words] = (isCode ? null : /^(#{1,4}) (.+)$/.exec(line)) ?? []
    if (marks !== undefined && words !== undefined)
      sections.push({ heading: plain(words), level: marks.length, lines: [line] })
    else if (sections.length > 0) sections.at(-1)?.lines.push(line)
    else sections.push({ heading: page, level: 1, lines: [line] })
  }
  const title = sections[0]?.heading ?? page
  return sections.map(({ lines, ...rest }) => ({ page, title, ...rest, text: lines.join('\n') }))
}

/** Without the marks of code and links. */
function plain(heading: string): string {
  return heading.replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** How much a word counts for where it stands. */
const weights = { heading: 6, title: 2 } as const
const mostWords = 12

class PageSearch {
  readonly #sections: readonly (Section & { readonly words: ReadonlyMap<string, number> })[]

  constructor(sections: readonly Section[]) {
    this.#sections = sections.map((section) => ({ ...section, words: countWords(section.text) }))
  }

  /** @param most how many are answered */
  find(query: string, most: number): Found[] {
    const wanted = [...new Set(wordsOf(query))].slice(0, mostWords)
    const counted = wanted.map((word) => ({ word, places: this.#placesOf(word) }))
    const judged = this.#sections.map((section, place) => {
      let score = 0
      let met = 0
      for (const { word, places } of counted) {
        const times = places.get(place)
        if (times === undefined) continue
        met += 1
        const rarity = Math.log(1 + this.#sections.length / places.size)
        score += rarity * (1 + Math.log(times) + bonusOf(section, word))
      }
      return { section, score: score * met }
    })
    return judged
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, most)
      .map(({ section: { page, heading, text } }) => {
        return { page, heading, excerpt: excerptOf(text, wanted) }
      })
  }

  /** How often a word, or one that begins with it, stands in each section. */
  #placesOf(word: string): ReadonlyMap<number, number> {
    const places = new Map<number, number>()
    for (const [place, { words }] of this.#sections.entries()) {
      let times = words.get(word) ?? 0
      if (word.length >= 4)
        for (const [other, count] of words)
          if (other !== word && other.startsWith(word)) times += count / 2
      if (times > 0) places.set(place, Math.max(1, times))
    }
    return places
  }
}

function bonusOf({ heading, title }: Section, word: string): number {
  const stands = (text: string): boolean => wordsOf(text).some((one) => one.startsWith(word))
  return (stands(heading) ? weights.heading : 0) + (stands(title) ? weights.title : 0)
}

function countWords(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** `softDelete` is one word, and so is `@Secured`. Those that stand everywhere say nothing. */
function wordsOf(text: string): string[] {
  const all = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return all.filter((word) => word.length > 1 && !common.has(word))
}

const common = new Set(
  'a an and are as at be by can do does for from how i if in is it its me my no not of on or so that the then this to use used using what when where which who why with you your'.split(
    ' ',
  ),
)

const longest = 480

/** From the line with most of the words on, as far as there is room; a line of code only where no other has one. */
function excerptOf(text: string, wanted: readonly string[]): string {
  const lines = text.split('\n').slice(1)
  let isCode = false
  const scores = lines.map((line) => {
    if (isFence(line)) isCode = !isCode
    const own = new Set(wordsOf(line))
    const met = wanted.filter((word) => own.has(word)).length
    return isCode ? met / (mostWords + 1) : met
  })
  const best = Math.max(0, scores.indexOf(Math.max(...scores)))
  const from = lines
    .slice(best > 0 && lines[best - 1] !== '' ? best - 1 : best)
    .join('\n')
    .trim()
  return from.length > longest ? `${from.slice(0, longest)}…` : from
}

function isFence(line: string): boolean {
  return /^\s*(?:```|~~~)/.test(line)
}

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
