/** Finds the root fields of an operation as one combination of `@skip` and `@include` values sees it. */
import type {
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from 'graphql'
import { graphqlLibrary } from './library.js'

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>
export type Conditions = Readonly<Record<string, boolean>>

/**
 * The nodes of each response key, in the order of the response. Source: GraphQL specification, CollectFields.
 *
 * @param conditions values of the variables in directives; `undefined` takes every field, skipped or not
 */
export function collectRoots(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  conditions: Conditions | undefined,
): Map<string, [FieldNode, ...FieldNode[]]> {
  const { Kind } = graphqlLibrary()
  const roots = new Map<string, [FieldNode, ...FieldNode[]]>()
  const visited = new Set<string>()
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      if (conditions !== undefined && !isIncluded(selection, conditions)) continue
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value
        const nodes = roots.get(key)
        if (nodes === undefined) roots.set(key, [selection])
        else nodes.push(selection)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        visit(selection.selectionSet)
      } else {
        const name = selection.name.value
        const fragment = fragments[name]
        if (fragment === undefined || visited.has(name)) continue
        visited.add(name)
        visit(fragment.selectionSet)
      }
    }
  }
  visit(operation.selectionSet)
  return roots
}

/** Names of the variables that `@skip` and `@include` name anywhere in the operation, sorted. */
export function conditionNames(
  operation: OperationDefinitionNode,
  fragments: Fragments,
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

function isIncluded(selection: SelectionNode, conditions: Conditions): boolean {
  const { Kind } = graphqlLibrary()
  return conditionsOf(selection).every(({ skips, value }) => {
    const is =
      value.kind === Kind.VARIABLE
        ? conditions[value.name.value] === true
        : value.kind === Kind.BOOLEAN && value.value
    return is !== skips
  })
}

function conditionsOf({ directives = [] }: SelectionNode) {
  return directives.flatMap(({ name, arguments: given = [] }) => {
    if (name.value !== 'skip' && name.value !== 'include') return []
    const value = given.find((argument) => argument.name.value === 'if')?.value
    return value === undefined ? [] : [{ skips: name.value === 'skip', value }]
  })
}
