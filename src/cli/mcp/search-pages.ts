/** Searches the pages of the documentation by words: each section is judged by itself, the one with rare words first. */

export interface Section {
  readonly page: string
  /** The page's title. */
  readonly title: string
  /** Its own heading; the title where it stands before the first one. */
  readonly heading: string
  /** 1 for the page's title, 2 for what stands below it. */
  readonly level: number
  readonly text: string
}

export interface Found {
  readonly page: string
  readonly heading: string
  /** Lines around the words. */
  readonly excerpt: string
}

/** Cuts a page at its headings, outside of code. */
export function toSections(page: string, text: string): Section[] {
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

export class PageSearch {
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
