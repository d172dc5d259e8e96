/** Writes the sources of pulled records, in the style of Prettier without semicolons. */
import {
  codeOf,
  toCode,
  type PulledField,
  type PulledRecord,
  type PulledRelation,
  type Setting,
} from './pulled-record.js'

const lineWidth = 100

/** @returns the file of one record */
export function writeRecord(record: PulledRecord): string {
  const { className, settings, fields, relations } = record
  const members = [...fields.flatMap(writeField), ...relations.flatMap(writeRelation)]
  return [
    ...writeImports(record),
    '',
    ...writeComment(describeRecord(record)),
    ...writeCall('@Record', [], settings, ''),
    `export class ${className} {`,
    ...members.map((line) => (line === '' ? '' : `  ${line}`)),
    '}',
    '',
  ].join('\n')
}

/** @returns `index.ts`, which exports every record and the list of all */
export function writeIndex(
  records: readonly Pick<PulledRecord, 'className' | 'fileName'>[],
): string {
  const sorted = [...records].sort((a, b) => (a.fileName < b.fileName ? -1 : 1))
  const names = sorted.map(({ className }) => className)
  return [
    '/** The records of the database. `filigree pull` adds new tables here. */',
    ...sorted.map(
      ({ className, fileName }) => `import { ${className} } from ${toCode(`./${fileName}.js`)}`,
    ),
    '',
    ...writeList('export {', ' ', names, '}'),
    '',
    ...writeList('export const records = [', '', names, ']'),
    '',
  ].join('\n')
}

/** `export { A, B }`, on several lines if one is too long. */
function writeList(start: string, space: string, names: readonly string[], end: string): string[] {
  if (names.length === 0) return [`${start}${end}`]
  const line = `${start}${space}${names.join(', ')}${space}${end}`
  return line.length <= lineWidth ? [line] : [start, ...names.map((name) => `  ${name},`), end]
}

function writeImports({ className, fields, relations }: PulledRecord): string[] {
  const types = [...fields.map(({ type }) => type), ...(relations.length > 0 ? ['Rel<'] : [])]
  const isUsed = (name: string): boolean => types.some((type) => type.includes(name))
  const names = [
    ...(['BelongsTo', 'HasMany'] as const).filter((kind) =>
      relations.some((relation) => relation.kind === kind),
    ),
    'Field',
    'Record',
    ...(isUsed('ExactNumber') ? ['type ExactNumber'] : []),
    ...(isUsed('Generated<') ? ['type Generated'] : []),
    ...(isUsed('Rel<') ? ['type Rel'] : []),
  ]
  const targets = [...new Map(relations.map(({ target, file }) => [target, file]))]
    .filter(([target]) => target !== className)
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
  const usesUuids = fields.some(({ settings }) =>
    settings.some(([, code]) => codeOf(code).includes('randomUUID')),
  )
  return [
    ...(usesUuids ? ["import { randomUUID } from 'node:crypto'"] : []),
    ...writeList('import {', ' ', names.sort(byName), "} from 'filigree'"),
    ...targets.map(([target, file]) => `import { ${target} } from ${toCode(`./${file}.js`)}`),
  ]
}

function byName(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => `${name.startsWith('type ') ? 1 : 0}${name}`)
  return (a ?? '') < (b ?? '') ? -1 : 1
}

function describeRecord({ table, remarks }: PulledRecord): string[] {
  const kind = table.kind === 'table' ? '' : `A ${table.kind}.`
  const comment = [table.comment ?? '', kind].filter((text) => text !== '').join(' ')
  const left = remarks.map(({ where, message }) => `- ${columnOf(where)} ${message}.`)
  return [
    ...(comment === '' ? [] : [comment]),
    ...(comment === '' || left.length === 0 ? [] : ['']),
    ...left,
  ]
}

/** `billing.orders.total` → `total` */
function columnOf(where: string): string {
  return where.slice(where.lastIndexOf('.') + 1)
}

/** A comment of lines or of one line. Texts of the database cannot end it. */
function writeComment(lines: readonly string[], indent = 0): string[] {
  const width = lineWidth - indent - ' * '.length
  const wrapped = lines.flatMap((line) => wrap(toPlainText(line), width))
  const [first, second] = wrapped
  if (first === undefined) return []
  if (second === undefined && first.length <= width - 4) return [`/** ${first} */`]
  return ['/**', ...wrapped.map((line) => ` * ${line}`.trimEnd()), ' */']
}

function toPlainText(text: string): string {
  return text.replaceAll('*/', '* /').replace(/\s+/g, ' ').trim()
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  const indent = text.startsWith('- ') ? '  ' : ''
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + word.length < width)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(line === undefined ? word : `${indent}${word}`)
  }
  return lines
}

function writeField(field: PulledField): string[] {
  const { property, column, kind, settings, type, isOptional } = field
  const member = `${property}${isOptional ? '?' : '!'}: ${type}`
  return [
    ...writeComment(column.comment === undefined ? [] : [column.comment], 2),
    ...writeCall('@Field', [toCode(kind)], settings, member),
  ]
}

function writeRelation({ name, kind, target, settings, isNullable }: PulledRelation): string[] {
  const one = isNullable ? `${target} | null` : target
  const type = kind === 'HasMany' ? `${target}[]` : one
  return writeCall(`@${kind}`, [`() => ${target}`], settings, `${name}!: Rel<${type}>`)
}

/** A decorator and the member that it decorates, on as few lines as possible. */
function writeCall(
  decorator: string,
  values: readonly string[],
  settings: readonly Setting[],
  member: string,
): string[] {
  const options = settings.map(([name, code]) => `${name}: ${codeOf(code)}`).join(', ')
  const all = [...values, ...(settings.length === 0 ? [] : [`{ ${options} }`])]
  const call = all.length === 0 ? decorator : `${decorator}(${all.join(', ')})`
  const width = member === '' ? lineWidth : lineWidth - 2
  const line = `${call} ${member}`.trimEnd()
  const rest = member === '' ? [] : [member]
  if (line.length <= width) return [line]
  if (call.length <= width) return [call, ...rest]
  const start = `${decorator}(${values.map((value) => `${value}, `).join('')}{`
  return [start, ...settings.flatMap((one) => writeSetting(one, width)), '})', ...rest]
}

function writeSetting([name, code]: Setting, width: number): string[] {
  const line = `  ${name}: ${codeOf(code)},`
  if (line.length <= width || typeof code === 'string') return [line]
  return [`  ${name}: [`, ...code.map((item) => `    ${item},`), '  ],']
}
