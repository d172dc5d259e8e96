/** Describes a schema briefly, without descriptions, for readers such as language models: all records, or one of them with all of its types. */
import type { ASTNode, DefinitionNode, GraphQLSchema, ObjectTypeDefinitionNode } from 'graphql'
import { graphqlLibrary } from '../library.js'
import { generatedOf } from './model.js'

interface RecordSchema {
  readonly schema: GraphQLSchema
  /** The records that types were generated for, by the name of the type. */
  readonly recordOfType: ReadonlyMap<string, string>
}

const rootNames = ['Query', 'Mutation'] as const

/**
 * @param record described in full, with its root fields and the types that they use. Default: the root fields and the
 * types of all records
 * @returns text in the schema definition language
 */
export function describeSchema(described: RecordSchema, record?: string): string {
  const { print, printSchema, parse } = graphqlLibrary()
  const { schema, recordOfType } = described
  const { definitions } = parse(printSchema(schema), { noLocation: true })
  const byName = new Map(definitions.map((one) => [nameOf(one), withoutDescriptions(one)]))
  const listed =
    record === undefined
      ? allDefinitions(recordOfType, byName)
      : definitionsOf(record, described, byName)
  return listed.map(print).join('\n\n')
}

/** The root fields, the types of all records, and the objects within these that belong to no record: nested classes. */
function allDefinitions(
  recordOfType: RecordSchema['recordOfType'],
  byName: ReadonlyMap<string, DefinitionNode>,
): DefinitionNode[] {
  const { Kind } = graphqlLibrary()
  const names = new Set(recordOfType.values())
  // The set grows during the loop.
  for (const name of names)
    for (const used of [byName.get(name) ?? []].flat().flatMap(typeNamesIn))
      if (!recordOfType.has(used) && byName.get(used)?.kind === Kind.OBJECT_TYPE_DEFINITION)
        names.add(used)
  return [...rootNames, ...names].flatMap((name) => byName.get(name) ?? [])
}

/** The root fields of a record, and the types that they use, except those of other records. */
function definitionsOf(
  record: string,
  { schema, recordOfType }: RecordSchema,
  byName: ReadonlyMap<string, DefinitionNode>,
): DefinitionNode[] {
  const roots = rootNames.flatMap((name) => {
    const root = byName.get(name) as ObjectTypeDefinitionNode | undefined
    const fields = root?.fields?.filter(
      (field) => recordOfRoot(schema, name, field.name.value) === record,
    )
    return root === undefined || fields === undefined || fields.length === 0
      ? []
      : [{ ...root, fields }]
  })
  const definitionOf = (name: string): DefinitionNode[] => {
    const owner = recordOfType.get(name) ?? record
    return owner === record ? [byName.get(name) ?? []].flat() : []
  }
  const types = new Set(roots.flatMap(typeNamesIn))
  // The set grows during the loop.
  for (const name of types)
    for (const used of definitionOf(name).flatMap(typeNamesIn)) types.add(used)
  return [...roots, ...[...types].flatMap(definitionOf)]
}

function recordOfRoot(schema: GraphQLSchema, root: string, name: string): string | undefined {
  const type = schema.getType(root)
  const field = graphqlLibrary().isObjectType(type) ? type.getFields()[name] : undefined
  const generated = field && generatedOf(field)
  return generated !== undefined && 'model' in generated ? generated.model.name : undefined
}

function typeNamesIn(node: ASTNode): string[] {
  const names: string[] = []
  graphqlLibrary().visit(node, { NamedType: ({ name }) => void names.push(name.value) })
  return names
}

function nameOf(definition: DefinitionNode): string {
  return 'name' in definition ? (definition.name?.value ?? '') : ''
}

function withoutDescriptions(definition: DefinitionNode): DefinitionNode {
  const enter = (node: ASTNode): ASTNode | undefined =>
    'description' in node && node.description !== undefined
      ? { ...node, description: undefined }
      : undefined
  return graphqlLibrary().visit<DefinitionNode>(definition, { enter })
}
