/** The words for the errors of a CSV file, in the language of the page. */
import { ruleText } from './field-rules.js'
import { texts } from './language.js'
import { fieldOf, labelAt, withLabel, type RecordInfo } from './schema.js'
import { fill } from './translate.js'

export interface FileError {
  readonly row: number
  /** The column. Empty if the error concerns the complete row. */
  readonly path: string
  /** The rule that is broken. */
  readonly code: string
  readonly message: string
  /** The column that was perhaps meant. */
  readonly suggestion?: string
}

/** Words that the application has written stay. */
export function fileErrorText(record: RecordInfo, error: FileError): string {
  const { path, code, message, suggestion = '' } = error
  const sentence = texts.rowErrors?.[suggestion === '' ? code : `${code}Suggested`]
  if (sentence !== undefined) return fill(sentence, { name: path, suggestion, one: record.one })
  const label = labelAt(record, path)
  const field = fieldOf(record, path)
  const hasOwnWords = path === '' || !message.startsWith(`${path} `)
  if (hasOwnWords || field?.messages?.[code] !== undefined) return withLabel(message, path, label)
  const words = (field && ruleText(field, code)) ?? texts.codes?.[code]
  return words === undefined ? withLabel(message, path, label) : `${label} ${words}`
}
