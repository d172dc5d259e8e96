/**
 * Checks that fields with the same response key can be merged, in time that grows with the document. The rule of graphql-js
 * compares all pairs of fields and of fragments, which takes 200 ms for 6,500 characters. Source: GraphQL specification,
 * 5.3.2, Field Selection Merging; decisions, Security limits.
 */
import type {
  ASTVisitor,
  DocumentNode,
  FieldNode,
  GraphQLNamedType,
  GraphQLOutputType,
  SelectionSetNode,
  ValidationContext,
  ValueNode,
} from 'graphql'
import { graphqlLibrary } from './library.js'
import { fieldOf } from './measure.js'

/** Up to this number of selections of a document, the rule of graphql-js is fast enough. Its errors name more fields. */
const maxPairedSelections = 50

export function mergeableFieldsRule(context: ValidationContext): ASTVisitor {
  const { GraphQLError, OverlappingFieldsCanBeMergedRule } = graphqlLibrary()
  if (countSelections(context.getDocument()) <= maxPairedSelections)
    return OverlappingFieldsCanBeMergedRule(context)
  const schema = context.getSchema()
  const merger = new FieldMerger(context)
  const check = (set: SelectionSetNode, parent: GraphQLNamedType | undefined): void => {
    const conflict = merger.findConflict([{ set, parent }])
    if (conflict === undefined) return
    const { key, reason, nodes } = conflict
    const message = `Fields "${key}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`
    context.reportError(new GraphQLError(message, { nodes }))
  }
  return {
    OperationDefinition: ({ operation, selectionSet }) => {
      check(selectionSet, schema.getRootType(operation) ?? undefined)
    },
    FragmentDefinition: ({ typeCondition, selectionSet }) => {
      check(selectionSet, schema.getType(typeCondition.name.value))
    },
  }
}

function countSelections(document: DocumentNode): number {
  let count = 0
  const visit = ({ selections }: SelectionSetNode): void => {
    count += selections.length
    for (const selection of selections)
      if ('selectionSet' in selection && selection.selectionSet !== undefined)
        visit(selection.selectionSet)
  }
  for (const definition of document.definitions)
    if ('selectionSet' in definition) visit(definition.selectionSet)
  return count
}

/** A selection set and the type that it selects from. The type of an unknown field is `undefined`. */
interface TypedSet {
  readonly set: SelectionSetNode
  readonly parent: GraphQLNamedType | undefined
}

interface SelectedField {
  readonly node: FieldNode
  readonly parent: GraphQLNamedType | undefined
  readonly type: GraphQLOutputType | undefined
}

interface Conflict {
  readonly key: string
  readonly reason: string
  readonly nodes: readonly FieldNode[]
}

type MergedFields = readonly [SelectedField, ...SelectedField[]]
/** Compares a field with the first one of the same response key. @returns the reason of a conflict */
type FieldComparison = (first: SelectedField, other: SelectedField) => string | undefined

/**
 * Merges the selection sets of each response key level by level, and compares each field with the first one of its key:
 * the shape of the response for all of them, and name and arguments for those that one object may have.
 */
class FieldMerger {
  readonly #context: ValidationContext
  readonly #argumentTexts = new Map<FieldNode, string>()
  readonly #checkedFields = new Set<string>()
  readonly #checkedShapes = new Set<string>()
  readonly #numbers = new Map<SelectionSetNode, number>()

  constructor(context: ValidationContext) {
    this.#context = context
  }

  findConflict(sets: readonly TypedSet[]): Conflict | undefined {
    return (
      this.#compare(sets, splitByObject, this.#differentField, this.#checkedFields) ??
      this.#compare(sets, toOnePart, differentShape, this.#checkedShapes)
    )
  }

  /**
   * @param split the fields of a response key that are compared and merged with each other
   * @param checked keys of the sets that were compared, to which many spreads of a fragment may lead
   */
  #compare(
    sets: readonly TypedSet[],
    split: (fields: MergedFields) => readonly MergedFields[],
    comparison: FieldComparison,
    checked: Set<string>,
  ): Conflict | undefined {
    if (sets.length === 0) return undefined
    const setsKey = sets.map(({ set }) => this.#numberOf(set)).join()
    if (checked.has(setsKey)) return undefined
    checked.add(setsKey)
    for (const [key, fields] of this.#collect(sets)) {
      for (const part of split(fields)) {
        const [first] = part
        for (const other of part) {
          const reason = other === first ? undefined : comparison(first, other)
          if (reason !== undefined) return { key, reason, nodes: [first.node, other.node] }
        }
        const conflict = this.#compare(innerSets(part), split, comparison, checked)
        if (conflict !== undefined) return conflict
      }
    }
    return undefined
  }

  /** The fields by response key, with fragments expanded. Each fragment is expanded once. */
  #collect(sets: readonly TypedSet[]): ReadonlyMap<string, MergedFields> {
    const { Kind } = graphqlLibrary()
    const schema = this.#context.getSchema()
    const fields = new Map<string, [SelectedField, ...SelectedField[]]>()
    const expanded = new Set<string>()
    const collect = ({ set, parent }: TypedSet): void => {
      for (const selection of set.selections) {
        if (selection.kind === Kind.FIELD) {
          const key = selection.alias?.value ?? selection.name.value
          const type = fieldOf(parent, selection.name.value)?.type
          const field = { node: selection, parent, type }
          const found = fields.get(key)
          if (found === undefined) fields.set(key, [field])
          else found.push(field)
          continue
        }
        const fragment =
          selection.kind === Kind.INLINE_FRAGMENT
            ? selection
            : this.#context.getFragment(selection.name.value)
        if (selection.kind === Kind.FRAGMENT_SPREAD) {
          if (expanded.has(selection.name.value)) continue
          expanded.add(selection.name.value)
        }
        if (fragment === undefined || fragment === null) continue
        const { typeCondition, selectionSet } = fragment
        const type = typeCondition === undefined ? parent : schema.getType(typeCondition.name.value)
        collect({ set: selectionSet, parent: type })
      }
    }
    for (const set of sets) collect(set)
    return fields
  }

  #numberOf(set: SelectionSetNode): number {
    const number = this.#numbers.get(set) ?? this.#numbers.size
    this.#numbers.set(set, number)
    return number
  }

  readonly #differentField: FieldComparison = (first, other) => {
    const [name, otherName] = [first.node.name.value, other.node.name.value]
    if (name !== otherName) return `"${name}" and "${otherName}" are different fields`
    return this.#argumentsOf(first.node) === this.#argumentsOf(other.node)
      ? undefined
      : 'they have differing arguments'
  }

  #argumentsOf(node: FieldNode): string {
    let text = this.#argumentTexts.get(node)
    if (text === undefined) {
      const { arguments: list = [] } = node
      text = list
        .map(({ name, value }) => `${name.value}:${textOf(value)}`)
        .sort()
        .join()
      this.#argumentTexts.set(node, text)
    }
    return text
  }
}

/** A value as text, in which the order of an object's fields does not matter. */
function textOf(value: ValueNode): string {
  const { Kind, print } = graphqlLibrary()
  if (value.kind === Kind.LIST) return `[${value.values.map(textOf).join()}]`
  if (value.kind !== Kind.OBJECT) return print(value)
  const fields = value.fields.map(({ name, value: inner }) => `${name.value}:${textOf(inner)}`)
  return `{${fields.sort().join()}}`
}

/** The selection sets of the fields, each once. */
function innerSets(fields: MergedFields): TypedSet[] {
  const { getNamedType } = graphqlLibrary()
  const sets = new Map<SelectionSetNode, TypedSet>()
  for (const { node, type } of fields) {
    const { selectionSet: set } = node
    if (set !== undefined) sets.set(set, { set, parent: type && getNamedType(type) })
  }
  return [...sets.values()]
}

function toOnePart(fields: MergedFields): readonly MergedFields[] {
  return [fields]
}

/** The fields that one object may have: those of each object type, with those of interfaces and unknown types. */
function splitByObject(fields: MergedFields): readonly MergedFields[] {
  const { isObjectType } = graphqlLibrary()
  const parents = new Set(fields.map(({ parent }) => parent).filter(isObjectType))
  if (parents.size <= 1) return [fields]
  return [...parents].flatMap((object) => {
    const [first, ...others] = fields.filter(
      ({ parent }) => parent === object || !isObjectType(parent),
    )
    return first === undefined ? [] : [[first, ...others] as const]
  })
}

const differentShape: FieldComparison = (first, other) =>
  first.type !== undefined && other.type !== undefined && haveConflict(first.type, other.type)
    ? `they return conflicting types "${String(first.type)}" and "${String(other.type)}"`
    : undefined

function haveConflict(one: GraphQLOutputType, other: GraphQLOutputType): boolean {
  const { isLeafType, isListType, isNonNullType } = graphqlLibrary()
  if (isListType(one) || isListType(other))
    return !isListType(one) || !isListType(other) || haveConflict(one.ofType, other.ofType)
  if (isNonNullType(one) || isNonNullType(other))
    return !isNonNullType(one) || !isNonNullType(other) || haveConflict(one.ofType, other.ofType)
  return (isLeafType(one) || isLeafType(other)) && one !== other
}
