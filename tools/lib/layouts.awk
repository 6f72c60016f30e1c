# SPDX-License-Identifier: GPL-2.0-only
# layouts.awk: reads abidw output and prints one line per class of namespace pmukit, with its size in bytes and the offset of each
# member in bits: "pmukit::perfdata::Damage 56 offset@0 lost_bytes@64 reason@128 record_type@384".

# Returns the value of an attribute in the current line, or "".
function value(name) {
	return match($0, " " name "='[^']*'") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
}

function scope(    i, all) {
	for (i = 1; i <= depth; i++)
		all = all (i > 1 ? "::" : "") names[i]
	return all
}

function print_class(    name) {
	name = scope()
	if (name ~ /^pmukit::/ && name !~ /</ && name !~ /__anonymous|&lt;/ && !declared[depth] && !seen[name]++)
		print name " " sizes[depth] / 8 members[depth]
}

/<(namespace-decl|class-decl|union-decl) / {
	names[++depth] = value("name")
	sizes[depth] = value("size-in-bits")
	declared[depth] = /is-declaration-only='yes'/ || /<namespace-decl /
	members[depth] = ""
	if (/\/>$/) {
		print_class()
		depth--
	}
}
/<data-member / { at = value("layout-offset-in-bits"); is_member = at != "" }
/<var-decl / && is_member { members[depth] = members[depth] " " value("name") "@" at; is_member = 0 }
/<\/(namespace-decl|class-decl|union-decl)>/ { print_class(); depth-- }
