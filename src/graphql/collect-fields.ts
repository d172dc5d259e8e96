/**
 * Collects selected fields by response key: expands fragments, and evaluates `@skip` and `@include`. Source: GraphQL
 * specification, 6.3.2 Field Collection.
 */
import type {
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from 'graphql'
import { graphqlLibrary } from './library.js'

type Conditions = Readonly<Record<string, boolean>>

/** The input for evaluating fragments and directives. */
export interface Collecting {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** Values of the variables in `@skip` and `@include`. `undefined` includes skipped fields. */
  readonly conditions: Conditions | undefined
}

/** An operation or a field. */
interface Selecting {
  readonly selectionSet?: SelectionSetNode | undefined
}

export type FieldGroups = Map<string, [FieldNode, ...FieldNode[]]>

/**
 * @param nodes an operation, or fields with the same response key, whose selections are merged
 * @param typeNames the object type and its interfaces; fragments on other types are skipped. `undefined` skips no fragment
 * @returns the fields in the order of the response
 */
export function collectFields(
  nodes: readonly Selecting[],
  typeNames: readonly string[] | undefined,
  { fragments, conditions }: Collecting,
): FieldGroups {
  const { Kind } = graphqlLibrary()
  const groups: FieldGroups = new Map()
  const visited = new Set<string>()
  for (const { selectionSet } of nodes) {
    if (selectionSet !== undefined) collect(selectionSet)
  }
  return groups

  function collect(selectionSet: SelectionSetNode): void {
    for (const selection of selectionSet.selections) {
      if (conditions === undefined || isIncluded(selection, conditions)) add(selection)
    }
  }

  function add(selection: SelectionNode): void {
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [selection])
      else group.push(selection)
      return
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      const { typeCondition } = selection
      if (typeCondition === undefined || isOfType(typeCondition.name.value))
        collect(selection.selectionSet)
      return
    }
    const name = selection.name.value
    const fragment = fragments[name]
    if (visited.has(name) || fragment === undefined) return
    visited.add(name)
    if (isOfType(fragment.typeCondition.name.value)) collect(fragment.selectionSet)
  }

  function isOfType(name: string): boolean {
    return typeNames === undefined || typeNames.includes(name)
  }
}

function isIncluded(selection: SelectionNode, conditions: Conditions): boolean {
  const { Kind } = graphqlLibrary()
  return conditionsOf(selection).every(({ skips, value }) => {
    const isTrue =
      value.kind === Kind.VARIABLE
        ? conditions[value.name.value] === true
        : value.kind === Kind.BOOLEAN && value.value
    return isTrue !== skips
  })
}

function conditionsOf({ directives = [] }: SelectionNode) {
  return directives.flatMap(({ name, arguments: argumentNodes = [] }) => {
    if (name.value !== 'skip' && name.value !== 'include') return []
    const value = argumentNodes.find((argument) => argument.name.value === 'if')?.value
    return value === undefined ? [] : [{ skips: name.value === 'skip', value }]
  })
}

/** The sorted names of the variables in all `@skip` and `@include` of the operation. */
export function conditionNames(
  operation: OperationDefinitionNode,
  fragments: Collecting['fragments'],
): readonly string[] {
  const { Kind } = graphqlLibrary()
  const names = new Set<string>()
  const visited = new Set<string>()
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const { value } of conditionsOf(selection)) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value)
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD) {
        if (selection.selectionSet !== undefined) visit(selection.selectionSet)
        continue
      }
      const fragment = fragments[selection.name.value]
      if (fragment === undefined || visited.has(selection.name.value)) continue
      visited.add(selection.name.value)
      visit(fragment.selectionSet)
    }
  }
  visit(operation.selectionSet)
  return [...names].sort()
}
