import { describe, expect, it } from '@jest/globals'
import { Matches, MaxLength } from 'class-validator'
import { Field } from '../../src/index.js'
import { patternCost, findSlowPatterns } from '../../src/fields/pattern-cost.js'
import { bodyCheck, shapeOf } from './compiled.js'

class Patterned {
  @Field('string', { maxLength: 10, pattern: /^(a+)+$/ }) slow!: string
  @Field('string', { maxLength: 10, pattern: '^[a-z]+$' }) quick!: string
  @Matches(/(x*)*y/) @MaxLength(5) matched!: string
  @Field('string') none!: string
  @Field('string', { pattern: /^[a-z]+$/ }) unbounded!: string
  @Field('string', { pattern: /^[a-z]+[a-z]+$/, maxLength: 300 }) short!: string
  @Field('string', { pattern: /^[a-z]+[a-z]+$/, maxLength: 301 }) long!: string
}

describe('findSlowPatterns', () => {
  it('warns about patterns that can be slow and unanchored ones, with class, field and fix', () => {
    expect(findSlowPatterns([shapeOf(Patterned)])).toEqual([
      {
        code: 'FIELD_PATTERN_SLOW',
        message: 'Patterned.slow: pattern /^(a+)+$/ can take very long on hostile text.',
        remedy: 'Do not repeat what already repeats, and set a maxLength.',
      },
      {
        code: 'FIELD_PATTERN_UNBOUNDED',
        message: 'Patterned.unbounded: pattern /^[a-z]+$/ is matched against text of any length.',
        remedy: 'Set a maxLength, too.',
      },
      expect.objectContaining({
        code: 'FIELD_PATTERN_SLOW',
        message: expect.stringContaining('Patterned.long'),
      }),
      expect.objectContaining({ message: expect.stringContaining('Patterned.matched') }),
    ])
  })

  it.each<[string, RegExp[]]>([
    [
      'no',
      [
        /^S\d{6}$/,
        /^[A-Z]{2,5}-?\d{1,4}$/,
        /^(?:red|green|(bl|gr)[ae]y?)$/,
        /^a$|^bb$/,
        /^\p{L}{1,40}$/u,
        /^(?:\d{3}\b.?){2}$/,
        /^$/,
        new RegExp('^[\\p{L}--[a-z]]{2}$', 'v'),
      ],
    ],
    [
      'a',
      [
        /^S\d{6}/,
        /S\d{6}$/,
        /^a$|b$/,
        /^S\d{6,}$/,
        /^(?:a+b){2}$/,
        /^S\d{6}$/m,
        /^(?=.*\d).{8}$/,
        /^(a)\1$/,
        /^(?:a$)/,
      ],
    ],
  ])('gives %s warning where the pattern says how long the text is', (warning, patterns) => {
    const warned = patterns.filter((pattern) => {
      class Limited {
        @Field('string', { pattern }) text!: string
      }
      return findSlowPatterns([shapeOf(Limited)]).some(
        ({ code }) => code === 'FIELD_PATTERN_UNBOUNDED',
      )
    })
    expect(warned).toEqual(warning === 'a' ? patterns : [])
  })

  it('finds patterns of nested classes, cycles included, once', () => {
    class Outer {
      @Field(() => Patterned) inner!: Patterned
      @Field(() => Outer, { list: true }) outer!: Outer[]
    }
    expect(findSlowPatterns([shapeOf(Outer), shapeOf(Patterned)])).toHaveLength(4)
  })

  it('returns nothing for a class without patterns', () => {
    expect(findSlowPatterns([shapeOf(class None {})])).toEqual([])
  })

  it('does not matter for text that is too long: the pattern is not run', () => {
    const check = bodyCheck(Patterned)
    const value = { quick: 'a', none: '', unbounded: 'a', short: 'ab', long: 'ab' }
    const hostile = `${'a'.repeat(50)}!`
    const fails = (input: object): unknown => {
      try {
        return check(input)
      } catch (error) {
        return (error as { errors: { code: string }[] }).errors.map(({ code }) => code)
      }
    }
    expect(fails({ ...value, slow: hostile, matched: 'x'.repeat(50) })).toEqual([
      'maxLength',
      'maxLength',
    ])
  })
})

describe('patternCost', () => {
  it.each<[string, RegExp[]]>([
    [
      'exponential',
      [
        /^(a|a)*$/,
        /^(a+)+$/,
        /(x*)*y/,
        /^(\w+\s?)*$/,
        /^(a|ab|b)*$/,
        /^(a|A)*$/i,
        /^(a?b?)*$/,
        /^([a-z]{1,50}){1,50}$/,
        /^(?=(a+)+$)a/,
        /^(x|y|[xy])+z/,
        /^([中]|中)+$/,
        /^(\p{L}|ä)*$/u,
      ],
    ],
    [
      'polynomial',
      [
        /^\s*a?\s*b?\s*$/,
        /^[^@\s]+@[^@\s]+\.[^@\s]+$/,
        /a*a*$/,
        /^.*foo.*bar$/,
        /\d+$/,
        /^\s+|\s+$/,
        /^(.*)\1$/,
      ],
    ],
    [
      'linear',
      [
        /^[a-z]+$/,
        /^[a-z0-9]+(-[a-z0-9]+)*$/,
        /^\d{4}-\d{2}-\d{2}$/,
        /^(?:[a-z]+\.)+[a-z]{2,}$/,
        /^[\w.+-]+@[\w-]+\.[\w.-]+$/,
        /foo/,
        /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,}$/,
        /^\P{Cc}*$/u,
        /^(?<year>\d+)-\k<year>$/,
        /^[a-z]{1,50}[a-z0-9]{1,50}$/,
        /^(a+)+/,
        /^\d{1,3}(,\d{3})*(\.\d+)?$/,
        new RegExp('^[\\p{L}--[a-z]]+$', 'v'),
      ],
    ],
  ])('is %s', (cost, patterns) => {
    expect(patterns.map((pattern) => [pattern, patternCost(pattern)])).toEqual(
      patterns.map((pattern) => [pattern, cost]),
    )
  })

  it('is unknown for a pattern with too many positions', () => {
    expect(patternCost(new RegExp(`^(${'[ab]c'.repeat(300)})*$`))).toBe('unknown')
  })
})
