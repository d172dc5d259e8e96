/** Finds generated inputs, scalars and enums that nothing names: filters of kinds that no field has. */
import type { SchemaParts } from './build-schema.js'
import type { FieldDeclaration, TypeDeclaration } from './declarations.js'
import type { GeneratedPart } from './generated-part.js'
import { readTypeNotation } from './type-notation.js'

/** @returns the names of those that may be left out; what was declared by hand stays */
export function unusedTypes(
  { types, queries, mutations, subscriptions, added }: SchemaParts,
  generated: GeneratedPart | undefined,
): string[] {
  const used = new Set<string>()
  const visit = (notation: string): void => {
    const name = readTypeNotation(notation)?.name
    if (name === undefined || used.has(name)) return
    used.add(name)
    const type = types.get(name)
    if (type !== undefined) for (const inner of notationsOf(type)) visit(inner)
  }
  const isKept = (name: string, { kind }: TypeDeclaration): boolean =>
    kind === 'object' || kind === 'interface' || generated?.types.has(name) !== true
  for (const [name, type] of types) if (isKept(name, type)) visit(name)
  for (const fields of [queries, mutations, subscriptions, ...added.values()])
    for (const field of fields.values()) for (const notation of ofField(field)) visit(notation)
  return [...types.keys()].filter((name) => !used.has(name))
}

function notationsOf(type: TypeDeclaration): string[] {
  if (type.kind === 'scalar' || type.kind === 'enum') return []
  return Object.values(type.fields).flatMap(ofField)
}

function ofField(field: string | Pick<FieldDeclaration, 'type' | 'args'>): string[] {
  if (typeof field === 'string') return [field]
  return [field.type, ...Object.values(field.args ?? {}).flatMap(ofField)]
}
