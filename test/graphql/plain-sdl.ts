/** The text of a schema without descriptions and the built-in directive, for tests of types. */
import { Kind, parse, print, visit, type ASTNode } from 'graphql'

export function plainSdl(sdl: string): string {
  const enter = (node: ASTNode): object | null | undefined => {
    if (node.kind === Kind.DIRECTIVE_DEFINITION && node.name.value === 'live') return null
    return 'description' in node ? { ...node, description: undefined } : undefined
  }
  return print(visit<ASTNode>(parse(sdl), { enter }))
}
