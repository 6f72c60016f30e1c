# SPDX-License-Identifier: GPL-2.0-only
# declared.awk HEADER...: lists the functions that headers declare but do not define. A line has the access and the name with
# namespace and class: "public pmukit::perfdata::Reader::next". The script understands the style of this project's headers, not all
# of C++.

function reset() { text = "" }

# Returns the name before the first parenthesis if the text declares a function without a body, or "" if it does not.
function declared_name(t,    at) {
	gsub(/\[\[[^]]*\]\]/, "", t)
	while (gsub(/<[^<>]*>/, "", t)) continue
	at = index(t, "(")
	if (!at || t ~ /(^|[ \t])(using|typedef|static_assert|friend|constexpr|template|return|extern)([ \t(]|$)/ ||
	    t ~ /=[ \t]*(default|delete|0)[ \t]*$/)
		return ""
	if (substr(t, 1, at) ~ /=/ && substr(t, 1, at) !~ /operator *=+\($/)
		return ""
	t = substr(t, 1, at - 1)
	sub(/[ \t]+$/, "", t)
	if (match(t, /operator *[^ \t]+$/) || match(t, /[A-Za-z_~][A-Za-z_0-9]*$/))
		return substr(t, RSTART)
	return ""
}

function unclosed(t) {
	return gsub(/\(/, "", t) > gsub(/\)/, "", t)
}

function scope(    i, all) {
	for (i = 1; i <= depth; i++)
		if (names[i] != "")
			all = all names[i] "::"
	return all
}

# Enters the scope that a '{' opens. The text before the '{' determines the kind of scope.
function open_scope(t,    word) {
	depth++
	kinds[depth] = "body"
	names[depth] = ""
	if (t ~ /(^|[ \t])namespace[ \t]+[A-Za-z_:0-9]+[ \t]*$/) {
		match(t, /[A-Za-z_:0-9]+[ \t]*$/)
		word = substr(t, RSTART)
		kinds[depth] = "space"
	} else if (t !~ /\(/ && t !~ /(^|[ \t])enum[ \t]/ && match(t, /(^|[ \t])(class|struct)[ \t]+[A-Za-z_0-9]+/)) {
		word = substr(t, RSTART, RLENGTH)
		sub(/^[ \t]*(class|struct)[ \t]+/, "", word)
		kinds[depth] = "class"
		access[depth] = t ~ /(^|[ \t])class[ \t]/ ? "private" : "public"
	}
	gsub(/[ \t]/, "", word)
	names[depth] = word
}

function in_declarations() {
	return depth == 0 || kinds[depth] != "body"
}

FNR == 1 { depth = 0; reset() }
/^[ \t]*#/ { next }
{
	line = $0
	sub(/\/\/.*/, "", line)
	n = length(line)
	for (i = 1; i <= n; i++) {
		c = substr(line, i, 1)
		if (in_declarations() && unclosed(text)) {
			text = text c	# a default argument may have braces
		} else if (c == "{") {
			open_scope(in_declarations() ? text : "")
			reset()
		} else if (c == "}") {
			depth--
			reset()
		} else if (!in_declarations()) {
			continue
		} else if (c == ";") {
			name = declared_name(text)
			if (name != "")
				print (kinds[depth] == "class" ? access[depth] : "public") " " scope() name
			reset()
		} else if (c == ":" && text ~ /^[ \t]*(public|private|protected)$/) {
			access[depth] = text
			gsub(/[ \t]/, "", access[depth])
			reset()
		} else {
			text = text c
		}
	}
	text = text " "
}
