/**
 * Reads `@Record({ search })`: the texts in which words are searched. Source: decisions, Second storey: records,
 * Filters.
 */
import type { Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class-metadata.js'
import { toSearchName } from './column-names.js'
import type { RecordOptions } from './record.js'
import { readRelationNotes } from './relations.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'

interface Searched {
  readonly type: Class
  /** The table's name. */
  readonly name: string
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** Hidden fields are left out: no row is found by a value that answers do not show. */
export function readSearch(of: Searched, problems: Problem[]): TableSearch | undefined {
  const given: unknown = of.options.search
  if (given === undefined) return undefined
  const where = `@Record of ${of.type.name}: search`
  if (!Array.isArray(given) || given.length === 0) {
    problems.push(fault(`${where} names no fields.`, "Write search: ['name'], or leave it out."))
    return undefined
  }
  const before = problems.length
  for (const name of namesOf(of))
    if (/^_*search$/i.test(name)) {
      const message = `${of.type.name}.${name}: the record has the option search, whose filter has this name.`
      problems.push(fault(message, 'Rename the field, or leave the option search out.'))
    }
  const columns = given.flatMap((name: unknown) => readColumn(of, where, name, problems))
  if (problems.length > before) return undefined
  const shown = [...new Set(columns)].filter(({ field }) => !field.hidden)
  if (shown.length === 0) {
    const remedy = 'Name a field that clients can see, or leave the option out.'
    problems.push(fault(`${where} names hidden fields only, which are never searched.`, remedy))
    return undefined
  }
  const name = toSearchName(
    of.name,
    shown.map((column) => column.name),
  )
  return Object.freeze({ name, columns: Object.freeze(shown) })
}

function namesOf({ type, columns }: Searched): string[] {
  return [...columns.map(({ property }) => property), ...readRelationNotes(type).keys()]
}

function readColumn(
  { columns }: Searched,
  where: string,
  name: unknown,
  problems: Problem[],
): Column[] {
  const texts = columns.filter(isText)
  const column = columns.find(({ property }) => property === name)
  if (column !== undefined && isText(column)) return [column]
  const names = texts.map(({ property }) => property)
  const text = String(name)
  problems.push(
    column === undefined
      ? fault(`${where}: there is no field "${text}".`, didYouMean(text, names))
      : fault(
          `${where}: "${text}" is not a text field.`,
          `There are ${names.join(', ') || 'no texts'}.`,
        ),
  )
  return []
}

function isText({ storage, compares }: Column): boolean {
  return storage === 'text' && compares === 'text'
}

function fault(message: string, remedy: string): Problem {
  return { code: 'RECORD_SEARCH', message, remedy }
}
