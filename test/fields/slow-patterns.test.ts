import { describe, expect, it } from '@jest/globals'
import { Matches } from 'class-validator'
import { Field } from '../../src/fields/field.js'
import { readShape } from '../../src/fields/shape.js'
import { findSlowPatterns } from '../../src/fields/slow-patterns.js'

class Patterned {
  @Field('string', { pattern: /^(a+)+$/ }) slow!: string
  @Field('string', { pattern: '^[a-z]+$' }) quick!: string
  @Matches(/(x*)*y/) matched!: string
  @Field('string') none!: string
}

describe('findSlowPatterns', () => {
  it('warns of nested repetition, naming class, field and remedy', () => {
    expect(findSlowPatterns([readShape(Patterned)])).toEqual([
      {
        code: 'FIELD_PATTERN_SLOW',
        message: 'Patterned.slow: pattern /^(a+)+$/ can take very long on hostile text.',
        remedy: 'Do not repeat what already repeats, and set a maxLength.',
      },
      expect.objectContaining({ message: expect.stringContaining('Patterned.matched') }),
    ])
  })

  it('finds those of nested classes, circles of them included, once', () => {
    class Outer {
      @Field(() => Patterned) inner!: Patterned
      @Field(() => Outer, { list: true }) outer!: Outer[]
    }
    expect(findSlowPatterns([readShape(Outer), readShape(Patterned)])).toHaveLength(2)
  })

  it('has nothing to say of a class without patterns', () => {
    expect(findSlowPatterns([readShape(class None {})])).toEqual([])
  })
})
