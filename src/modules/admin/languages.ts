/** The languages of the admin page: the tables of their texts, and which one a browser gets. */
import type { Problem } from '../../index.js'
import { english, type AdminText, type AdminTexts, type TextName } from './texts/english.js'
import { german } from './texts/german.js'

/** The languages whose texts come with the package. */
const tables: Readonly<Record<string, AdminTexts>> = { en: english, de: german }

/** Languages that are written from right to left. */
const rightToLeft = /^(?:ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)(?:-|$)/

/** The texts of an application, by language. Texts that are missing come from the package. */
export type LanguageTexts = Readonly<Record<string, Partial<AdminTexts>>>

export interface LanguageOptions {
  readonly language?: string | readonly string[] | undefined
  readonly texts?: LanguageTexts | undefined
}

export interface PageLanguage {
  /** A BCP 47 tag: `de`, `pt-BR`. */
  readonly tag: string
  readonly direction: 'ltr' | 'rtl'
  readonly texts: AdminTexts
}

const tagsOf = ({ language = 'en' }: LanguageOptions): string[] => [language].flat()

const primary = (tag: string): string => tag.split('-', 1).join('').toLowerCase()

/** @returns the languages of the page, the default one first */
export function resolveLanguages(options: LanguageOptions): PageLanguage[] {
  return tagsOf(options).map((tag) => ({
    tag,
    direction: rightToLeft.test(tag) ? 'rtl' : 'ltr',
    texts: { ...english, ...tables[primary(tag)], ...options.texts?.[tag] },
  }))
}

/**
 * Chooses the language that the browser prefers. A page in one language, and a browser that accepts none of the languages, get the
 * first one. Source: RFC 9110 §12.5.4.
 */
export function chooseLanguage(
  languages: readonly PageLanguage[],
  acceptLanguage: string | undefined,
): PageLanguage {
  const [first] = languages as readonly [PageLanguage, ...PageLanguage[]]
  if (languages.length === 1 || acceptLanguage === undefined) return first
  for (const range of readRanges(acceptLanguage)) {
    const found =
      languages.find(({ tag }) => tag.toLowerCase() === range) ??
      languages.find(({ tag }) => primary(tag) === primary(range))
    if (found !== undefined) return found
  }
  return first
}

/** The languages of the header in lower case, the preferred one first. */
function readRanges(header: string): string[] {
  return header
    .slice(0, 1000)
    .split(',')
    .map((part) => {
      const [range = '', weight] = part.split(';').map((one) => one.trim())
      return { range: range.toLowerCase(), weight: Number(weight?.replace(/^q=/i, '') ?? 1) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ range }) => range)
}

export function isLanguages(value: unknown): boolean {
  const tags: readonly unknown[] = Array.isArray(value) ? value : [value]
  return tags.length > 0 && tags.every(isTag)
}

function isTag(value: unknown): boolean {
  try {
    return typeof value === 'string' && Intl.getCanonicalLocales(value)[0] === value
  } catch {
    return false
  }
}

/** Checks that each language has texts, and that the texts of the application have the names and values of the page's. */
export function findLanguageProblems(options: LanguageOptions): Problem[] {
  const tags = tagsOf(options)
  const { texts = {} } = options
  const problems: Problem[] = []
  for (const tag of tags)
    if (tables[primary(tag)] === undefined && texts[tag] === undefined)
      problems.push(
        invalid(
          `admin: language ${JSON.stringify(tag)} has no texts.`,
          `Write texts: { ${tag}: { … } }, or use one of ${Object.keys(tables).join(', ')}.`,
        ),
      )
  for (const [tag, table] of Object.entries(texts)) {
    if (!tags.includes(tag))
      problems.push(
        invalid(
          `admin: texts has ${JSON.stringify(tag)}, which is not a language of the page.`,
          `Languages: ${tags.join(', ')}.`,
        ),
      )
    problems.push(...findTextProblems(`admin: texts.${tag}`, table))
  }
  return problems
}

function findTextProblems(where: string, table: Partial<AdminTexts>): Problem[] {
  return Object.entries(table).flatMap(([name, text]) => {
    if (name === 'kinds' || name === 'codes' || name === 'rowErrors') return []
    if (!Object.hasOwn(english, name)) {
      const fix = 'The type AdminTexts of filigree/admin lists the names.'
      return [invalid(`${where} names ${JSON.stringify(name)}, which is no text.`, fix)]
    }
    const allowed = placeholdersOf(english[name as TextName])
    const unknown = [...placeholdersOf(text as AdminText)].filter((one) => !allowed.has(one))
    if (unknown.length === 0) return []
    const fix =
      allowed.size === 0
        ? 'This text has no values.'
        : `Its values: {${[...allowed].join('}, {')}}.`
    return [invalid(`${where}.${name} has the unknown value {${unknown.join('}, {')}}.`, fix)]
  })
}

/** The names of the values in a text, in all its plural forms. */
export function placeholdersOf(text: AdminText): ReadonlySet<string> {
  const forms = typeof text === 'string' ? [text] : Object.values(text)
  return new Set(
    forms.flatMap((form) => [...form.matchAll(/\{(\w+)/g)].map(([, name]) => name ?? '')),
  )
}

function invalid(message: string, remedy: string): Problem {
  return { code: 'INVALID_OPTION', message, remedy }
}
