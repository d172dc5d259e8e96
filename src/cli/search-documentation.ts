/** Searches the documentation by words: titles, headings, text, and the synonyms at the beginning of a page. */
import { findPages, readPage, readSynonyms } from './documentation-pages.js'

export interface Section {
  readonly page: string
  /** The page's title. */
  readonly title: string
  /** The heading of the section. The page's title for text before the first heading. */
  readonly heading: string
  /** 1 for the page's title, 2 for the headings below it, and so on. */
  readonly level: number
  readonly text: string
  /** Other words for the subject of the page, in its first section. */
  readonly synonyms: readonly string[]
}

export interface SearchResult {
  readonly page: string
  readonly heading: string
  /** The lines around the best match. */
  readonly excerpt: string
}

/** Splits a page at its headings, except in code blocks. */
export function toSections(
  page: string,
  text: string,
  synonyms: readonly string[] = [],
): Section[] {
  const sections: { heading: string; level: number; lines: string[] }[] = []
  let isCode = false
  for (const line of text.split('\n')) {
    if (isFence(line)) isCode = !isCode
    const [, marks, title] = (isCode ? null : /^(#{1,4}) (.+)$/.exec(line)) ?? []
    if (marks !== undefined && title !== undefined)
      sections.push({ heading: plain(title), level: marks.length, lines: [line] })
    else if (sections.length > 0) sections.at(-1)?.lines.push(line)
    else sections.push({ heading: page, level: 1, lines: [line] })
  }
  const title = sections[0]?.heading ?? page
  return sections.map(({ lines, ...rest }, index) => {
    const own = index === 0 ? synonyms : []
    return { page, title, ...rest, text: lines.join('\n'), synonyms: own }
  })
}

/** Removes the Markdown of code and links. */
function plain(heading: string): string {
  return heading.replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** Additional score of a word in the heading and in the page's title. */
const weights = { heading: 6, title: 2 } as const
/** Additional score of a page if a synonym of its subject is the whole query. */
const subjectScore = 1000
const maxQueryTerms = 12

function normalize(phrase: string): string {
  return phrase
    .toLowerCase()
    .replace(/[\s-]+/g, ' ')
    .trim()
}

class PageSearch {
  readonly #sections: readonly (Section & { readonly wordCounts: ReadonlyMap<string, number> })[]

  constructor(sections: readonly Section[]) {
    this.#sections = sections.map((section) => ({
      ...section,
      wordCounts: countTokens([section.text, ...section.synonyms].join(' ')),
    }))
  }

  /** @param limit the maximum number of results */
  find(query: string, limit: number): SearchResult[] {
    const queryTerms = [...new Set(tokenize(query))].slice(0, maxQueryTerms)
    const counted = queryTerms.map((word) => ({ word, occurrences: this.#occurrencesOf(word) }))
    const scored = this.#sections.map((section, index) => {
      let score = 0
      let matches = 0
      for (const { word, occurrences } of counted) {
        const times = occurrences.get(index)
        if (times === undefined) continue
        matches += 1
        const rarity = Math.log(1 + this.#sections.length / occurrences.size)
        score += rarity * (1 + Math.log(times) + bonusOf(section, word))
      }
      const isSubject = section.synonyms.some((one) => normalize(one) === normalize(query))
      return { section, score: score * matches + (isSubject ? subjectScore : 0) }
    })
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ section: { page, heading, text } }) => {
        return { page, heading, excerpt: excerptOf(text, queryTerms) }
      })
  }

  /** Counts a word, and words that begin with it, in each section. */
  #occurrencesOf(word: string): ReadonlyMap<number, number> {
    const occurrences = new Map<number, number>()
    for (const [index, { wordCounts }] of this.#sections.entries()) {
      let times = wordCounts.get(word) ?? 0
      if (word.length >= 4)
        for (const [other, count] of wordCounts)
          if (other !== word && other.startsWith(word)) times += count / 2
      if (times > 0) occurrences.set(index, Math.max(1, times))
    }
    return occurrences
  }
}

function bonusOf({ heading, title }: Section, word: string): number {
  const contains = (text: string): boolean => tokenize(text).some((one) => one.startsWith(word))
  return (contains(heading) ? weights.heading : 0) + (contains(title) ? weights.title : 0)
}

function countTokens(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of tokenize(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Splits a text into words without stop words. `softDelete`, `@Secured` and `N+1` are one word each. */
function tokenize(text: string): string[] {
  const all = text.toLowerCase().match(/[\p{L}\p{N}_]+(?:\+[\p{L}\p{N}_]+)*/gu) ?? []
  return all.filter((word) => word.length > 1 && !stopWords.has(word))
}

const stopWords = new Set(
  'a an and are as at be by can do does for from how i if in is it its me my no not of on or so that the then this to use used using what when where which who why with you your'.split(
    ' ',
  ),
)

const maxExcerptLength = 480

/** The text from the line with most of the query's words on. Lines of code count less than other lines. */
function excerptOf(text: string, queryTerms: readonly string[]): string {
  const lines = text.split('\n').slice(1)
  let isCode = false
  const scores = lines.map((line) => {
    if (isFence(line)) isCode = !isCode
    const lineTerms = new Set(tokenize(line))
    const matches = queryTerms.filter((word) => lineTerms.has(word)).length
    return isCode ? matches / (maxQueryTerms + 1) : matches
  })
  const best = Math.max(0, scores.indexOf(Math.max(...scores)))
  const first = best > 0 && lines[best - 1] !== '' ? best - 1 : best
  const excerpt = lines.slice(first).join('\n').trim()
  const match = Math.min(...queryTerms.map((word) => indexOfWord(excerpt, word)))
  // Rows of tables are wide, so the word may be far from the beginning.
  const start =
    match < maxExcerptLength / 2 || match === Infinity ? 0 : match - maxExcerptLength / 2
  const end = start + maxExcerptLength
  return `${start > 0 ? '…' : ''}${excerpt.slice(start, end)}${excerpt.length > end ? '…' : ''}`
}

/** @returns Infinity if the text does not contain the word */
function indexOfWord(text: string, word: string): number {
  const index = text.toLowerCase().indexOf(word)
  return index < 0 ? Infinity : index
}

function isFence(line: string): boolean {
  return /^\s*(?:```|~~~)/.test(line)
}

interface IndexedPages {
  readonly pages: readonly string[]
  readonly search: PageSearch
}

let loadedPages: Promise<IndexedPages> | undefined

/** Loads the pages once, because the package does not change while it runs. A failed load is repeated. */
export function loadPages(): Promise<IndexedPages> {
  loadedPages ??= indexPages().catch((error: unknown) => {
    loadedPages = undefined
    throw error
  })
  return loadedPages
}

async function indexPages(): Promise<IndexedPages> {
  const pages = await findPages()
  const sections = await Promise.all(
    pages.map(async (page) => toSections(page, await readPage(page), await readSynonyms(page))),
  )
  return { pages, search: new PageSearch(sections.flat()) }
}
