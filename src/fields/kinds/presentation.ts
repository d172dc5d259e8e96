/** Completes how pages present the values of a kind. */
import type { Kind, Presentation } from './kind.js'

/** By the JSON type. Other values are edited as JSON text. */
const typesByJsonType: Readonly<Record<string, Presentation['type']>> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

const controlsByType: Readonly<Record<Presentation['type'], Presentation['control']>> = {
  text: 'line',
  integer: 'integer',
  number: 'decimal',
  boolean: 'checkbox',
  timestamp: 'datetime',
  json: 'json',
}

type ByControl = Pick<Presentation, 'comparison' | 'format' | 'chart'>

const line: ByControl = { comparison: 'text', format: 'text', chart: 'groups' }
const number: ByControl = { comparison: 'number', format: 'text', chart: 'numbers' }

const defaultsByControl: Readonly<Record<Presentation['control'], ByControl>> = {
  line,
  checkbox: line,
  lines: { ...line, chart: 'none' },
  json: { comparison: 'text', format: 'json', chart: 'none' },
  integer: number,
  decimal: { ...number, format: 'decimal' },
  date: { comparison: 'text', format: 'date', chart: 'periods' },
  time: { ...line, chart: 'none' },
  datetime: { comparison: 'time', format: 'datetime', chart: 'periods' },
  file: { comparison: 'text', format: 'size', chart: 'none' },
}

const filtersByComparison: Readonly<Record<Kind['compares'], Presentation['filter']>> = {
  nothing: 'none',
  equality: 'equals',
  order: 'range',
  text: 'contains',
}

/** The presentation of a kind, with the defaults of what the kind does not name. */
export function presentationOf(kind: Kind): Presentation {
  const { schema, compares, label, measure = 'characters', presentation } = kind
  const type = presentation?.type ?? typesByJsonType[String(schema.type)] ?? 'json'
  const control = presentation?.control ?? controlsByType[type]
  return {
    control,
    type,
    isFreeText: compares === 'text',
    label,
    pattern: typeof schema.pattern === 'string' ? schema.pattern : undefined,
    measure,
    filter: filtersByComparison[compares],
    ...defaultsByControl[control],
    ...presentation,
  }
}
