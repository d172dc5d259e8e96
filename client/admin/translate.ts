/** The texts, dates and numbers of the page in its language. */
import type { AdminText, PlaceholdersOf, TextName } from '../../src/modules/admin/texts/english.js'
import { language, texts } from './language.js'

type PlaceholderValues<Name extends TextName> = [PlaceholdersOf<Name>] extends [never]
  ? []
  : [
      values: Readonly<Record<PlaceholdersOf<Name>, string | number>> & {
        readonly count?: number | string
      },
    ]

const baseOf = (tag: string): string => tag.split('-', 1).join('').toLowerCase()

/** Browsers may name locales of their system that are no language tags, such as `en-US@posix`. */
const isVariant = (tag: string): boolean =>
  /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i.test(tag) && baseOf(tag) === baseOf(language)

/** The locale of dates and numbers: the browser's own variant of the page's language, such as `de-AT`. */
export const locale: string =
  (typeof navigator === 'undefined' ? [] : navigator.languages).find(isVariant) ?? language

const plurals = new Intl.PluralRules(language)
const numberFormat = new Intl.NumberFormat(locale)

/** `.` in English, `,` in German. */
const decimalSign = numberFormat.format(0.5).replace(/\p{Nd}/gu, '')

/** `12.50` → `12,50` in German */
export const withDecimalSign = (text: string): string =>
  /^-?\d*\.\d+$/.test(text) ? text.replace('.', decimalSign) : text

/** `12,50` → `12.50` in German. Also reads the point. */
export const withPoint = (text: string): string => text.replace(decimalSign, '.')

export const toCount = (count: number): string => numberFormat.format(count)

/** Whether a number takes the name of one thing: 1 in English and German. */
export const isSingular = (count: number): boolean => plurals.select(count) === 'one'

/** A text of the page. Numbers among the values are formatted, and `count` chooses the plural. */
export function translate<Name extends TextName>(
  name: Name,
  ...rest: PlaceholderValues<Name>
): string {
  const values: Readonly<Record<string, string | number>> = rest[0] ?? {}
  const forms: AdminText = texts[name]
  const text =
    typeof forms === 'object' ? (forms[plurals.select(Number(values.count))] ?? forms.other) : forms
  return fill(text, values)
}

/** Puts values in the places of their names. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)(\|lower)?\}/g, (_all, key: string, isLower?: string) => {
    const value = values[key] ?? ''
    const shown = typeof value === 'number' ? toCount(value) : value
    return isLower === undefined ? shown : lower(shown)
  })

/** Makes the first letter small for the middle of a sentence, except in abbreviations. */
const lower = (text: string): string =>
  /^[A-Z][^A-Z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
