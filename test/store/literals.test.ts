/** Values in statements: every string is stored unchanged and never becomes SQL. */
import { describe, expect, it } from 'vitest'
import { withLiterals } from '../../src/store/mysql/literal.ts'
import { STORED_VALUE } from '../../src/store/literals.ts'

const literal = (text: string) => withLiterals(STORED_VALUE, [text], 'utf8mb4_nopad_bin')

describe('a value that is only stored', () => {
  it('has a character set but no collation', () => {
    expect(literal('plain {"text": "?"}')).toBe(`_utf8mb4'plain {"text": "?"}'`)
    expect(literal('')).toBe("_utf8mb4''")
  })

  it.each(["it's", 'back\\slash', 'Täsk', '😀', 'line\nbreak', 'NUL\0', "\\'; DROP TABLE job; --", '\u007f'])(
    'is written in hexadecimal unless its characters mean the same under every sql_mode: %j',
    (text) => {
      expect(literal(text)).toBe(`_utf8mb4 x'${Buffer.from(text).toString('hex')}'`)
    },
  )

  it('keeps its position among other values', () => {
    const text = `INSERT (${STORED_VALUE}, ?, {job id}?, ${STORED_VALUE})`
    expect(withLiterals(text, ['a', 'b', 'c', 4], 'utf8mb4_nopad_bin')).toBe(
      "INSERT (_utf8mb4'a', _utf8mb4'b' COLLATE utf8mb4_nopad_bin, _ascii'c' COLLATE ascii_bin, 4)",
    )
  })
})
