/**
 * Collects selected fields by response key and expands fragments. Source: GraphQL specification, 6.3.2 Field
 * Collection.
 */
import type {
  DirectiveNode,
  FieldNode,
  FragmentDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from 'graphql'
import { graphqlLibrary } from './library.js'

/** The input for evaluating fragments and directives. */
export interface Collecting {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** Values of the variables in `@skip` and `@include`. */
  readonly conditions: Readonly<Record<string, boolean>>
}

export type FieldGroups = Map<string, [FieldNode, ...FieldNode[]]>

/**
 * @param nodes fields with the same response key, whose selections are merged
 * @param typeNames the object type and its interfaces; fragments on other types are skipped
 */
export function collectFields(
  nodes: readonly FieldNode[],
  typeNames: readonly string[],
  collecting: Collecting,
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
      if (isIncluded(selection, collecting.conditions)) add(selection)
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
      if (typeCondition === undefined || typeNames.includes(typeCondition.name.value))
        collect(selection.selectionSet)
      return
    }
    const name = selection.name.value
    const fragment = collecting.fragments[name]
    if (visited.has(name) || fragment === undefined) return
    visited.add(name)
    if (typeNames.includes(fragment.typeCondition.name.value)) collect(fragment.selectionSet)
  }
}

function isIncluded(
  { directives }: SelectionNode,
  conditions: Readonly<Record<string, boolean>>,
): boolean {
  if (directives === undefined || directives.length === 0) return true
  const valueOf = (name: string): boolean | undefined => {
    const directive = directives.find((one) => one.name.value === name)
    return directive && conditionOf(directive, conditions)
  }
  return valueOf('skip') !== true && valueOf('include') !== false
}

function conditionOf(
  { arguments: argumentNodes }: DirectiveNode,
  conditions: Readonly<Record<string, boolean>>,
): boolean | undefined {
  const { Kind } = graphqlLibrary()
  const value = argumentNodes?.find(({ name }) => name.value === 'if')?.value
  if (value?.kind === Kind.BOOLEAN) return value.value
  return value?.kind === Kind.VARIABLE ? conditions[value.name.value] : undefined
}
