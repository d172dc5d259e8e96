/** The words for errors of a CSV file on the admin page, in German and with the words of the application. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { describeFields, Field } from 'filigree'
import { fileErrorText } from '../../client/admin/csv-errors.js'
import { texts } from '../../client/admin/language.js'
import type { FieldInfo, RecordInfo } from '../../client/admin/schema.js'
import { german } from '../../src/modules/admin/texts/german.js'

const englishTexts = { ...texts }

// The server sends the texts of the language in the place of the English ones.
beforeAll(() => {
  Object.assign(texts, german)
})
afterAll(() => {
  for (const name of Object.keys(german)) Reflect.deleteProperty(texts, name)
  Object.assign(texts, englishTexts)
})

class Ticket {
  @Field('string', { minLength: 3, label: 'Betreff' }) title!: string
  @Field('integer', { min: 1, messages: { max: 'Höchstens drei.' }, max: 3 }) priority!: number
  @Field('integer') projectId!: number
}

const fields = describeFields(Ticket).map(({ name, presentation, rules, messages }): FieldInfo => {
  const { label, min, max, minLength } = rules
  const info = { name, kind: presentation, messages, label, min, max, minLength }
  return JSON.parse(JSON.stringify(info)) as FieldInfo
})
const record = { one: 'Ticket', fields } as unknown as RecordInfo

describe('an error of a CSV file in German', () => {
  it.each([
    [
      'title',
      'minLength',
      'title must have at least 3 characters',
      'Betreff muss mindestens 3 Zeichen haben',
    ],
    ['title', 'required', 'title is required', 'Betreff muss angegeben werden'],
    ['priority', 'type', 'priority must be an integer', 'Priority muss eine ganze Zahl sein'],
    ['priority', 'max', 'Höchstens drei.', 'Höchstens drei.'],
    [
      'projectId',
      'reference',
      'projectId names no Project',
      'Project id verweist auf eine Zeile, die es nicht gibt',
    ],
    ['title', 'readOnly', 'title cannot be changed', 'Betreff lässt sich nicht ändern'],
    ['', 'cellCount', 'The row has 3 cells.', 'Diese Zeile hat mehr Zellen als die erste.'],
    ['', 'TOO_LITTLE', 'Das Rohr ist leer.', 'Das Rohr ist leer.'],
    ['foo', 'unknownColumn', 'There is no field "foo".', 'Ticket hat kein Feld „foo“.'],
  ])('%s %s', (path, code, message, german) => {
    expect(fileErrorText(record, { row: 2, path, code, message })).toContain(german)
  })

  it('names the column that was perhaps meant', () => {
    const error = { row: 1, path: 'titel', code: 'unknownColumn', suggestion: 'title' }
    const message = 'There is no field "titel" in Ticket. Did you mean "title"?'
    expect(fileErrorText(record, { ...error, message })).toBe(
      'Ticket hat kein Feld „titel“. Meinten Sie „title“?',
    )
  })
})
