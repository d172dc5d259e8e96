/** A schema in short, for a model to read: what can be asked of records, or one of them with all that belongs to it. */

/** One definition: `type Ticket { … }`. */
interface Definition {
  readonly name: string
  readonly text: string
}

const roots: ReadonlySet<string> = new Set(['Query', 'Mutation'])

/** What a caller may not read of a record: fields and relations by name, or all of it. */
export type Hidden = readonly string[] | 'all'

/**
 * @param sdl in GraphQL's schema language
 * @param hidden all records by name
 * @param one the record that is told in full: its root fields, and the types that they need; other records are left out
 */
export function describeSchema(
  sdl: string,
  hidden: ReadonlyMap<string, Hidden>,
  one?: string,
): string {
  const definitions = withoutHidden(readDefinitions(sdl), hidden)
  const records = [...hidden.keys()]
  if (one === undefined) {
    const told = definitions.filter(({ name }) => roots.has(name) || records.includes(name))
    return told.map(({ text }) => withoutWords(text)).join('\n\n')
  }
  const others = new Set(records.filter((name) => name !== one))
  const found = new Map<string, string>()
  const open: string[] = []
  for (const { name, text } of definitions.filter((told) => roots.has(told.name))) {
    const fields = fieldsOf(text).filter((field) => namesIn(field).some((type) => isOf(type, one)))
    if (fields.length === 0) continue
    found.set(name, `type ${name} {\n${fields.join('')}}`)
    open.push(...fields.flatMap(namesIn))
  }
  const byName = new Map(definitions.map((told) => [told.name, told.text]))
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const text = byName.get(name)
    if (text === undefined || found.has(name) || [...others].some((other) => isOf(name, other)))
      continue
    found.set(name, withoutWords(text))
    open.push(...namesIn(text))
  }
  return [...found.values()].join('\n\n')
}

/** Without the types of hidden records, the fields that lead to them, and hidden fields in all types of their record. */
function withoutHidden(
  definitions: readonly Definition[],
  hidden: ReadonlyMap<string, Hidden>,
): Definition[] {
  const records = [...hidden.keys()]
  const closed = records.filter((name) => hidden.get(name) === 'all')
  const ownerOf = (type: string): string | undefined =>
    longest(records.filter((name) => isOf(type, name)))
  const isClosed = (type: string): boolean => closed.includes(ownerOf(type) ?? '')
  // `deleteNotes(ids: [ID!]!): Int` names its record only here.
  const isClosedRoot = (field: string): boolean => {
    const [, written = ''] = /^(?:create|update|delete|upsert)(\w+)$/.exec(field) ?? []
    return closed.includes(longest(records.filter((name) => written.startsWith(name))) ?? '')
  }
  if (closed.length === 0 && [...hidden.values()].every(({ length }) => length === 0))
    return [...definitions]
  return definitions
    .filter(({ name }) => !isClosed(name))
    .map(({ name, text }) => {
      const own = hidden.get(ownerOf(name) ?? '')
      const names = new Set(own === undefined || own === 'all' ? [] : own.flatMap(namesOf))
      const kept = fieldsOf(text).filter((field) => {
        const [called = ''] = /\w+/.exec(field) ?? []
        return !(names.has(plain(called)) || isClosedRoot(called) || namesIn(field).some(isClosed))
      })
      const [head] = withoutWords(text).split('{')
      return fieldsOf(text).length === kept.length
        ? { name, text }
        : { name, text: `${head ?? ''}{\n${kept.join('')}}` }
    })
}

function longest(names: readonly string[]): string | undefined {
  return [...names].sort((one, other) => other.length - one.length)[0]
}

/** A field's name, and those of its figures: `sumPrice`. */
function namesOf(field: string): string[] {
  return ['', 'sum', 'avg', 'min', 'max'].map((called) => plain(called + field))
}

/** GraphQL's names are in camel case, those of properties may have underscores. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

function readDefinitions(sdl: string): Definition[] {
  return sdl
    .split(/\n\n(?=(?:"""|type|input|enum|scalar|interface|union|directive)\b|""")/)
    .map((text) => ({
      name: /^(?:type|input|enum|scalar|interface|union|directive) @?(\w+)/m.exec(text)?.[1] ?? '',
      text,
    }))
}

/** Each with its arguments, which may go over several lines. */
function fieldsOf(text: string): string[] {
  return withoutWords(text).match(/^ {2}\w[\s\S]*?\n(?= {2}\w|\})/gm) ?? []
}

/** Names that begin with a capital: types. */
function namesIn(text: string): string[] {
  return text.match(/\b[A-Z]\w*/g) ?? []
}

/** `TicketWhere` is of `Ticket`. */
function isOf(type: string, record: string): boolean {
  return type === record || (type.startsWith(record) && /^[A-Z]/.test(type.slice(record.length)))
}

function withoutWords(text: string): string {
  return text.replace(/^[ ]*"""[\s\S]*?"""\n/gm, '').replace(/\n{2,}/g, '\n')
}
