/** A schema in short, for a model to read: what can be asked of records, or one of them with all that belongs to it. */

/** One definition: `type Ticket { … }`. */
interface Definition {
  readonly name: string
  readonly text: string
}

const roots: ReadonlySet<string> = new Set(['Query', 'Mutation'])

/**
 * @param sdl in GraphQL's schema language
 * @param records the names of all
 * @param one the record that is told in full: its root fields, and the types that they need; other records are left out
 */
export function describeSchema(sdl: string, records: readonly string[], one?: string): string {
  const definitions = readDefinitions(sdl)
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
