/** A schema's text without descriptions, for tests that look at types. */
import { parse, print, visit, type ASTNode } from 'graphql'

export function plainSdl(sdl: string): string {
  const enter = (node: ASTNode): object | undefined =>
    'description' in node ? { ...node, description: undefined } : undefined
  return print(visit<ASTNode>(parse(sdl), { enter }))
}
